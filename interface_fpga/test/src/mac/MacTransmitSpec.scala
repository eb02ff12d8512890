// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mac

import chisel3._
import chisel3.util._
import sallyport.common.stream.{NoMeta, Pace, Packet, StreamEnds, StreamHarness, StreamMatrix}
import sallyport.iface.headers.VlanTags

class MacTransmitSpec extends StreamMatrix {

  /**
   * @param injects frames of 3 beats, each byte their number, that are offered one after the other
   *   from the first beat of `in` on
   *
   * Events: injected frames.
   */
  private def harness(injects: Int) =
    new StreamHarness(new VlanTags, new NoMeta)({ case StreamEnds(in, out, events, _) =>
      val transmit = Module(new MacTransmit(256))
      transmit.io.in <> in
      transmit.io.in.bits.error := false.B
      val (beat, last) = Counter(transmit.io.inject.fire, MacTransmitSpec.injectedBeats)
      val number = RegInit(0.U(8.W))
      when(last)(number := number + 1.U)
      val begun = RegInit(false.B)
      when(in.valid)(begun := true.B)
      transmit.io.inject.valid := begun && number < injects.U
      transmit.io.inject.bits.data := Fill(64, number)
      transmit.io.inject.bits.last := beat === (MacTransmitSpec.injectedBeats - 1).U
      transmit.io.inject.bits.bytes := 64.U
      transmit.io.inject.bits.error := false.B
      transmit.io.inject.bits.meta := DontCare
      events(0) := last
      out.valid := transmit.io.mac.valid
      out.bits.data := transmit.io.mac.bits.data
      out.bits.last := transmit.io.mac.bits.last
      out.bits.bytes := transmit.io.mac.bits.bytes
      out.bits.error := transmit.io.mac.bits.error
      out.bits.meta := DontCare
      transmit.io.mac.ready := out.ready
      // Counted as the MAC sees them: frames and bytes with FCS.
      val frames = RegInit(0.U(32.W))
      val bytes = RegInit(0.U(32.W))
      frames := frames + transmit.io.events.txFrames - (out.fire && out.bits.last)
      bytes := bytes + transmit.io.events.txBytes - Mux(out.fire, out.bits.bytes + Mux(out.bits.last, 4.U, 0.U), 0.U)
      val settled = RegInit(0.U(9.W))
      settled := Mux(in.valid || out.valid, 0.U, settled + !settled(8))
      chisel3.assert(!settled(8) || (frames === 0.U && bytes === 0.U), "counters do not say what went out")
    })

  private def padded(packet: Packet): Packet = packet.copy(bytes = packet.bytes.padTo(60, 0.toByte), error = false)

  test("short frames are padded with zeros to 60 B; a frame never runs dry") {
    checkMatrix(harness(injects = 0), _ => matrixPackets(0), slack = 240)(packet => Seq(padded(packet)))
  }

  test("a frame waits for nothing where nothing is injected") {
    withBench(harness(injects = 0)) { bench =>
      bench.load(Seq(Packet(Seq.fill(60)(1.toByte))))
      bench.run(Pace.Always, Pace.Always, seed = 1)
      assert(bench.latency == 4)
    }
  }

  test("injected frames go in between, whole, one at a time, and take no frame's place for good") {
    val sent = matrixPackets(0, lengths = (1 to 256) ++ Seq(1518, 9596)).map(_.copy(error = false))
    val injected = (0 until 100).map(n => Packet(Seq.fill(64 * MacTransmitSpec.injectedBeats)(n.toByte)))
    for ((idle, pressure) <- Seq(Pace.Always -> Pace.Always, Pace.Half -> Pace.Bursts))
      withBench(harness(injects = injected.size)) { bench =>
        bench.load(sent)
        bench.run(idle, pressure, seed = 1)
        val (ours, theirs) = bench.received.partition(injected.contains)
        comparePackets(theirs, sent.map(padded), "frames of `in`")
        comparePackets(ours, injected, "injected frames")
        assert(bench.events(0) == injected.size)
        // Where frames of `in` follow each other, at most one goes in between.
        val order = bench.received.map(injected.contains)
        assert(idle != Pace.Always || !order.zip(order.tail).contains((true, true)))
      }
  }
}

object MacTransmitSpec {
  private val injectedBeats = 3
}
