// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import chisel3._
import sallyport.common.registers.map.{PuntGroup, PuntReason}
import sallyport.common.stream.{NoMeta, Pace, Packet, StreamHarness, StreamMatrix}

import scala.util.Random

class PuntQueueSpec extends StreamMatrix {
  private val groups =
    Seq(PuntGroup.other, PuntGroup.ike, PuntGroup.arp, PuntGroup.unknownSpi, PuntGroup.tunnel, PuntGroup.hairpin)

  /** Reasons of all of these groups but the last, which any may be of. */
  private val reasons = Seq(
    PuntReason.vlan,
    PuntReason.policy,
    PuntReason.ike,
    PuntReason.arp,
    PuntReason.unknownSpi,
    PuntReason.tunnel
  )

  /**
   * Events: frames that leave, are refused, find no room; and groups of refused frames that are
   * not those of `groups`.
   */
  private def harness(beats: Int, burst: Int => Int) = new StreamHarness(new PuntMeta, new NoMeta)(ends => {
    val queue = Module(new PuntQueue(port = 1, groups, beats))
    for ((limit, i) <- queue.io.limits.zipWithIndex) {
      limit.rate := 1.U
      limit.burst := burst(i).U
    }
    queue.io.in <> ends.in
    queue.io.in.bits.error := false.B
    ends.out <> queue.io.out
    ends.events(0) := queue.io.events.punted.orR
    ends.events(1) := queue.io.events.refused.orR
    ends.events(2) := queue.io.events.dropOverflow
    ends.events(3) := ends.in.valid && !ends.in.ready
  })

  private def frames(count: Int, lengths: Int => Int): Seq[Packet] = {
    val random = new Random(count)
    Seq.tabulate(count) { i =>
      val reason = reasons(random.nextInt(reasons.size))
      val sa = if (reason == PuntReason.tunnel) random.nextInt(1 << 16) else 0
      // Injected, for another tunnel, or neither; and the network.
      val flags = random.nextInt(3) << 6 | random.nextInt(64)
      Packet.random(lengths(i), random).copy(meta = BigInt(reason) << 24 | sa << 8 | flags, error = false)
    }
  }

  private type Frame = (Int, Int, Boolean, Boolean, Int, Seq[Byte])
  private def reason(packet: Packet): Int = (packet.meta >> 24).toInt
  private def expected(packet: Packet): Frame = {
    val Seq(injected, hairpin) = Seq(7, 6).map(packet.meta.testBit(_))
    (reason(packet), (packet.meta >> 8).toInt & 0xffff, injected, hairpin, packet.meta.toInt & 63, packet.bytes)
  }
  private def got(packet: Packet): Frame = {
    val punted = PuntedFrame(packet.bytes)
    (punted.reason, punted.sa, punted.injected, punted.hairpin, punted.network, punted.frame)
  }

  test("a header says port, reason, group, length and time of each frame; the frame is as it came") {
    val sent = frames(80, i => Seq(60, 61, 64, 111, 112, 113, 128, 1500, 9596)(i % 9))
    withBench(harness(2048, _ => 1000)) { bench =>
      bench.load(sent)
      for (pressure <- Pace.all) {
        bench.run(Pace.Half, pressure, seed = 3)
        val punted = bench.received.map(packet => PuntedFrame(packet.bytes))
        assert(bench.received.map(got) == sent.map(expected))
        assert(punted.forall(_.port == 1))
        // A frame of n beats comes n cycles after the one before, or later.
        for ((before, frame) <- punted.zip(punted.tail))
          assert(frame.cycles - before.cycles >= (frame.frame.length + 63) / 64)
        assert(punted.last.cycles - punted.head.cycles < 4L * sent.map(_.beats).sum)
        assert(bench.events(0) == sent.size && bench.events(1) + bench.events(2) + bench.events(3) == 0)
      }
    }
  }

  test("each group's policer lets as many pass as it has tokens, whatever the others do") {
    val sent = frames(300, i => 60 + 37 * (i % 11))
    val bursts = Seq(0, 7, 300, 11, 5, 9)
    withBench(harness(2048, bursts(_))) { bench =>
      bench.load(sent)
      bench.run(Pace.Always, Pace.Always, seed = 1)
      def group(packet: Packet): Int = reason(packet) match {
        case _ if packet.meta.testBit(6) => 5
        case PuntReason.ike => 1
        case PuntReason.arp => 2
        case PuntReason.unknownSpi => 3
        case PuntReason.tunnel => 4
        case _ => 0
      }
      val passes = sent.zipWithIndex.filter { case (packet, i) =>
        sent.take(i).count(group(_) == group(packet)) < bursts(group(packet))
      }.map(_._1)
      assert(passes.size > 20 && passes.size < 200)
      assert(bench.received.map(got) == passes.map(expected))
      assert(bench.events(0) == passes.size && bench.events(1) == sent.size - passes.size && bench.events(2) == 0)
    }
  }

  test("a CPU that is too slow costs frames, counted; the input never waits; what was refused takes no room") {
    val sent = frames(500, i => 60 + i % 200)
    for (burst <- Seq(1000, 20)) withBench(harness(256, _ => burst)) { bench =>
      bench.load(sent)
      bench.run(Pace.Always, Pace.Seldom, seed = 2)
      assert(bench.events(0) + bench.events(1) + bench.events(2) == sent.size && bench.events(3) == 0)
      assert((bench.events(2) > 0) == (burst == 1000) && (bench.events(1) > 0) == (burst == 20))
      val punted = bench.received.map(got)
      assert(punted.size == bench.events(0) && punted.diff(sent.map(expected)).isEmpty)
    }
  }
}
