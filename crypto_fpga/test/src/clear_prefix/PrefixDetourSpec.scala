// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.clear_prefix

import chisel3._
import sallyport.common.link.LinkMeta
import sallyport.common.stream.{Packet, StreamHarness, StreamMatrix}
import sallyport.crypto.dispatch.{FakeLane, LaneFarm, LinkMetaValue, PathJob, Route}
import sallyport.crypto.lane.{LaneConfig, Verdict}
import sallyport.crypto.suite.Suite

import scala.util.Random

/**
 * The clear headers' way around a farm of stand-in lanes, which change the order of slow and
 * fast packets.
 */
class PrefixDetourSpec extends StreamMatrix {

  private val laneRoute = Route.lane.litValue.toInt
  private val bypassRoute = Route.bypass.litValue.toInt

  /** What the harness reads from `sa`: the packet's route, the key byte and its class. */
  private def sa(route: Int, key: Int, fast: Boolean): Int = route | key << 4 | (if (fast) 1 << 12 else 0)

  /**
   * Events: 0 dropped before the lanes, 1 merged and good, 2 merged and not. The setting is the
   * period of zeroizes in cycles; 0 for none.
   */
  private def harness = new StreamHarness(new LinkMeta, new LinkMeta, depth = 8192)(h => {
    val config = LaneConfig(encrypt = true, bufferBeats = 512)
    val farm = Module(new LaneFarm(config, 4, PathJob.waiting, c => Module(new FakeLane(c)).io))
    val detour = Module(new PrefixDetour)
    detour.io.in <> h.in
    h.out <> detour.io.out
    detour.io.lanes <> farm.io.out
    detour.io.merged := farm.io.merged
    detour.io.row := farm.io.row
    detour.io.dropped := farm.io.drop

    val first = RegInit(true.B)
    val bare = detour.io.bare
    val jobRoom = !first || farm.io.job.ready
    farm.io.in.valid := bare.valid && jobRoom
    farm.io.in.bits.data := bare.bits.data
    farm.io.in.bits.bytes := bare.bits.bytes
    farm.io.in.bits.last := bare.bits.last
    farm.io.in.bits.error := bare.bits.error
    bare.ready := farm.io.in.ready && jobRoom
    when(bare.fire) { first := bare.bits.last }
    val word = bare.bits.meta.sa
    val job = WireInit(PathJob.none)
    job.route := Mux(
      bare.bits.meta.hasPrefix && bare.bits.meta.length === 0.U,
      Route.wrongMode,
      Route.safe(word(3, 0))._1
    )
    job.lane.suite :=
      Mux(word(12), Suite.named("aes128gcm16").number.U, Suite.named("sm4-sm3").number.U)
    job.lane.key := word(11, 4)
    job.lane.meta := bare.bits.meta
    farm.io.job.valid := bare.fire && first
    farm.io.job.bits := job
    farm.io.hold := false.B
    farm.io.runTest := false.B

    val age = RegInit(0.U(16.W))
    age := Mux(age + 1.U >= h.setting, 0.U, age + 1.U)
    farm.io.blocked := RegNext(age >= 1.U && age < 120.U, false.B)
    farm.io.zeroize := RegNext(age >= 2.U && age < 6.U, false.B)

    h.events(0) := farm.io.drop.valid
    h.events(1) := farm.io.merged.valid && farm.io.merged.bits.verdict === Verdict.ok
    h.events(2) := farm.io.merged.valid && farm.io.merged.bits.verdict =/= Verdict.ok
  })

  /** A packet as it comes, its class, and what leaves, if it does. */
  private case class Trial(packet: Packet, fast: Boolean, out: Option[Packet])

  private def trial(length: Int, random: Random, mixed: Boolean): Trial = {
    val bypass = mixed && random.nextInt(8) == 0
    val transport = random.nextInt(3) != 0
    val (tags, words) =
      Iterator.continually((random.nextInt(3), 5 + random.nextInt(8))).find(p => p._1 + p._2 <= 12).get
    val prefix = if (transport && !bypass) 14 + 4 * (tags + words) else 0
    val broken = mixed && prefix > 0 && random.nextInt(10) == 0
    // A tag too many, an IP header too short or too long, unused bits, or nothing behind
    // the prefix.
    val tos =
      if (!broken) tags << 4 | words else Seq(3 << 4 | 5, 4, 13, 1 << 4 | 12, 2 << 6 | 5, words)(random.nextInt(6))
    val route =
      if (bypass) bypassRoute
      else if (!mixed || random.nextInt(5) != 0) laneRoute
      else Seq(2, 3, 4, 5, 6, 7).filterNot(Seq(laneRoute, bypassRoute).contains)(random.nextInt(4))
    val fast = bypass || random.nextBoolean()
    val key = 1 + random.nextInt(255)
    val payload = new Array[Byte](length)
    random.nextBytes(payload)
    val bad = mixed && random.nextInt(8) == 0
    payload(0) = if (bad) (0xe0 + 1 + random.nextInt(5)).toByte else (payload(0) & 0x7f).toByte
    val head = new Array[Byte](prefix)
    random.nextBytes(head)
    val emptied = broken && tos == words
    val bytes = if (emptied) head.toSeq.take(14 + 4 * words) else (head ++ payload).toSeq
    val df = random.nextBoolean()
    val link = LinkMetaValue(bytes.length, sa(route, key, fast), bypass, df = df, tos = tos, transport = transport)
    val leaves = !broken && (bypass || route == laneRoute && !bad)
    val crypt = if (bypass) 0 else key
    val out = Packet(head.toSeq ++ payload.map(b => (b ^ crypt).toByte), link.bits)
    Trial(Packet(bytes, link.bits), fast, Option.when(leaves)(out))
  }

  private def isFast(p: Packet): Boolean = (LinkMetaValue(p.meta).sa >> 12 & 1) == 1

  test("headers of every length come back in front of their own packets, whatever the order, drops and bad verdicts") {
    withBench(harness) { bench =>
      val random = new Random(11)
      val lengths = random.shuffle(matrixLengths.filter(_ <= 9500) ++ Seq.fill(600)(1 + random.nextInt(200)))
      val trials = lengths.map(trial(_, random, mixed = true))
      bench.load(trials.map(_.packet))
      for ((idle, pressure) <- Seq((0, 0), (0, 1), (2, 0), (0, 3), (4, 4), (2, 2))) {
        bench.run(idle, pressure, seed = 7, settle = 1000)
        val received = bench.received
        for (fast <- Seq(false, true)) {
          val expected = trials.filter(_.fast == fast).flatMap(_.out)
          comparePackets(received.filter(isFast(_) == fast), expected, s"idle $idle, pressure $pressure, fast $fast")
        }
        assert(bench.events(1) == trials.count(_.out.nonEmpty))
        assert((0 to 2).map(bench.events).sum == trials.length)
      }
    }
  }

  test("a packet every two cycles; without prefixes a latency of one cycle more than the farm's") {
    withBench(harness) { bench =>
      val random = new Random(12)
      def timed(transport: Boolean): Int = {
        val trials = Seq.fill(4000)(trial(40, random, mixed = false))
        val wanted = trials.filter(t => LinkMetaValue(t.packet.meta).transport == transport).take(300)
        val quick = wanted.map { t =>
          val bytes = t.packet.bytes
          val at = bytes.length - 40
          t.packet.copy(bytes = bytes.updated(at + 1, 0.toByte))
        }
        bench.load(quick)
        bench.run(0, 0, seed = 1)
        info(s"transport $transport: latency ${bench.latency}, 300 packets in ${bench.cycles} cycles")
        bench.cycles
      }
      assert(timed(transport = false) <= 2 * 300 + 40)
      assert(timed(transport = true) <= 2 * 300 + 50)
    }
  }

  test("packets of two beats: a beat a cycle, and with prefixes three cycles a packet") {
    withBench(harness) { bench =>
      val random = new Random(14)
      for (transport <- Seq(false, true)) {
        val trials = Iterator.continually(trial(68, random, mixed = false)).filter { each =>
          val link = LinkMetaValue(each.packet.meta)
          link.transport == transport && isFast(each.packet) && each.packet.bytes.length <= 128
        }
        val packets = trials.take(300).map { each =>
          val bytes = each.packet.bytes
          each.packet.copy(bytes = bytes.updated(bytes.length - 67, 0.toByte))
        }.toSeq
        bench.load(packets)
        bench.run(0, 0, seed = 1)
        info(s"transport $transport: 300 packets in ${bench.cycles} cycles")
        assert(bench.received.length == 300 && bench.cycles <= (if (transport) 3 else 2) * 300 + 50)
      }
    }
  }

  test("a zeroize gives back every row: packets of transport mode go on after many") {
    withBench(harness) { bench =>
      val random = new Random(13)
      val trials = Seq.fill(1500)(trial(1 + random.nextInt(300), random, mixed = true))
      bench.load(trials.map(_.packet))
      for ((idle, pressure) <- Seq((0, 0), (0, 3), (2, 1))) {
        bench.run(idle, pressure, seed = 5, settle = 2000, setting = 701)
        val candidates = trials.flatMap(_.out).toSet
        for (got <- bench.received) assert(candidates.contains(got), "a packet was sent by nobody")
        assert(bench.received.length == bench.events(1))
        assert((0 to 2).map(bench.events).sum == trials.length)
      }
    }
  }
}
