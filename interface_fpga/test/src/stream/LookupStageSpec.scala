// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.stream

import chisel3._
import chisel3.util._
import sallyport.common.stream.{Pace, Packet, PacketStream, StreamEnds, StreamHarness, StreamMatrix}
import sallyport.iface.mac.RxMeta

class LookupStageSpec extends StreamMatrix {

  private val windowBytes = 78
  private val pipelineLatency = 20

  /** The result is the window's fold, so that a result beside the wrong packet shows. */
  private def harness(interval: Int, bytes: Int = windowBytes) = new StreamHarness(new RxMeta, UInt(32.W))({
    case StreamEnds(in, out, _, _) =>
      val stage = Module(new LookupStage(new RxMeta, UInt(32.W), bytes, interval))
      stage.io.hold := false.B
      stage.io.in <> in
      stage.io.in.bits.error := false.B
      out <> stage.io.out
      val window = stage.io.launch.bits.bytes.pad(32 * 64)
      val fold = (0 until 64).map(i => window(32 * i + 31, 32 * i)).reduce(_ ^ _) ^ stage.io.launch.bits.meta.length
      stage.io.result := ShiftRegister(
        {
          val v = Wire(Valid(UInt(32.W)))
          v.valid := stage.io.launch.valid
          v.bits := fold
          v
        },
        pipelineLatency,
        0.U.asTypeOf(Valid(UInt(32.W))),
        true.B
      )
      val tooOften = RegNext(stage.io.launch.valid, false.B) && stage.io.launch.valid
      if (interval > 1) chisel3.assert(!tooOften, "two launches in consecutive cycles")
  })

  private def reference(packet: Packet): Seq[Packet] = reference(windowBytes)(packet)

  private def reference(windowBytes: Int)(packet: Packet): Seq[Packet] = {
    val window = packet.bytes.take(windowBytes).padTo(256, 0.toByte)
    val words = window.grouped(4).map(Packet.littleEndian)
    Seq(Packet(packet.bytes, words.foldLeft(packet.meta)(_ ^ _)))
  }

  test("every packet leaves with its own result, a beat a cycle") {
    checkMatrix(harness(1), slack = 40)(reference)
  }

  test("windows of one, three and four beats hold what the packet has, and zeros") {
    for (windowBytes <- Seq(60, 138, 256))
      checkMatrix(harness(1, windowBytes), slack = 40)(reference(windowBytes))
  }

  test("with launches two cycles apart nothing is lost, and packets of two beats and more pass a beat a cycle") {
    checkMatrix(
      harness(2),
      packets = width => matrixPackets(width, matrixLengths.filter(_ > 64)),
      slack = 40
    )(reference)
  }

  test("one- and two-beat packets pass every second cycle") {
    withBench(harness(2)) { bench =>
      // The longest first: a harness that is loaded again must have played as many beats as
      // it gets.
      for (length <- Seq(128, 65, 64, 60)) {
        val sent = matrixPackets(PacketStream.lengthBits, Seq.fill(400)(length))
        bench.load(sent)
        bench.run(Pace.Always, Pace.Always, 1)
        comparePackets(bench.received, sent.flatMap(reference), s"$length B")
        info(s"$length B: ${bench.cycles} cycles for ${sent.size} packets, latency ${bench.latency}")
        assert(bench.cycles <= 2 * sent.size + 40)
      }
    }
  }
}
