// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import sallyport.common.simulation.LongForm
import sallyport.common.stream.{Pace, Packet, StreamHarness, StreamMatrix}

import scala.util.Random

/** Two ends joined by channels without faults, on the matrix. */
class LinkSpec extends StreamMatrix {

  private def pair(params: LinkParams, far: LinkParams, rate: Int) =
    new StreamHarness(new LinkMeta, new LinkMeta)(h => {
      val a = Module(new Link(params))
      val b = Module(new Link(far))
      val control = Wire(new ChannelControl)
      control := 0.U.asTypeOf(control)
      control.rate := rate.U
      control.up := true.B
      val channels = Seq((a, b), (b, a)).map { case (from, to) =>
        val channel = Module(new LinkChannel(41, 0))
        channel.io.control := control
        channel.io.in <> from.io.port.tx
        to.io.port.rx := channel.io.out
        to.io.port.up := true.B
        channel
      }
      a.io.in <> h.in
      h.out <> b.io.out
      b.io.in.valid := false.B
      b.io.in.bits := DontCare
      a.io.out.ready := true.B
      h.events(0) := b.io.status.received
      h.events(1) := b.io.status.lost.orR || a.io.status.lost.orR || a.io.status.dropped
      h.events(2) := channels.head.io.out.valid
    })

  /**
   * LinkMeta as a number: the packet's length on top, the rest random, without a sequence number
   * unless the link carries it.
   */
  private def packets(lengths: Seq[Int], sequence: Boolean): Seq[Packet] = {
    val random = new Random(11)
    lengths.map { length =>
      val fields = BigInt(16 + 4 + 24, random)
      val number = if (sequence) BigInt(64, random) else BigInt(0)
      Packet.random(length, random).copy(meta = (BigInt(length) << 108) | (fields << 64) | number)
    }
  }

  for (sequence <- Seq(false, true))
    test(s"delivers the matrix ${if (sequence) "with" else "without"} sequence numbers") {
      if (!sequence) LongForm.only()
      checkMatrix(
        pair(LinkParams(withSequenceTx = sequence), LinkParams(withSequenceRx = sequence), 256),
        _ => packets(new Random(1).shuffle(matrixLengths), sequence),
        slack = 700,
        seeds = Seq(1)
      )(Seq(_))
    }

  test("latency and rate at four lanes") {
    withBench(pair(LinkParams(), LinkParams(), 166)) { bench =>
      bench.load(packets(Seq(46), false))
      // The first run waits for the link to come up.
      bench.run(Pace.Always, Pace.Always, 1, settle = 1000)
      for (length <- Seq(46, 100, 114, 1382, 1400, 9582)) {
        bench.load(packets(Seq(length), false))
        bench.run(Pace.Always, Pace.Always, 1)
        val latency = bench.latency
        val count = 1500 / ((length + 63) / 64)
        bench.load(packets(Seq.fill(count)(length), false))
        bench.run(Pace.Always, Pace.Always, 1)
        val words = count * (16 + (length + 7) / 8 * 8) / 64.0
        info(
          f"$length%5d B: $latency%4d cycles from first beat in to first beat out (41 of them channel); " +
            f"$count%4d packets in ${bench.cycles}%5d cycles, ${words / (bench.cycles - latency)}%.3f words a cycle net"
        )
        assert(bench.events(0) == count && bench.events(1) == 0)
        if (length == 46) assert(words / (bench.cycles - latency) >= 0.64)
      }
    }
  }
}
