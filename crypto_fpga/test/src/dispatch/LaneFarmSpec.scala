// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import sallyport.common.link.LinkMeta
import sallyport.common.stream.{Packet, StreamHarness, StreamMatrix}
import sallyport.crypto.lane.{LaneConfig, Verdict}
import sallyport.crypto.suite.Suite

import scala.util.Random

/** Dispatch, merge and the bypass around stand-in lanes that take turns at random. */
class LaneFarmSpec extends StreamMatrix {

  private val lanes = 4

  /** Beside each packet: the job's route and key byte. */
  private class FarmMeta extends Bundle {
    val route = Route()
    val key = UInt(8.W)
    val link = new LinkMeta
  }

  private def meta(route: Int, key: Int, link: LinkMetaValue): BigInt =
    (((BigInt(route) << 8) | key) << LinkMetaValue.width) | link.bits

  private val laneRoute = Route.lane.litValue.toInt
  private val bypassRoute = Route.bypass.litValue.toInt

  /**
   * Events: 0 dropped before the lanes, 1 merged and good, 2 bad verdict, 3 zeroized. The setting
   * is the period of zeroizes in cycles; 0 for none.
   */
  private def harness = new StreamHarness(new FarmMeta, new LinkMeta, depth = 8192)(h => {
    val farm =
      Module(new LaneFarm(LaneConfig(encrypt = true, bufferBeats = 512), lanes, 8, c => Module(new FakeLane(c)).io))
    val first = RegInit(true.B)
    val jobRoom = !first || farm.io.job.ready
    farm.io.in.valid := h.in.valid && jobRoom
    farm.io.in.bits.data := h.in.bits.data
    farm.io.in.bits.bytes := h.in.bits.bytes
    farm.io.in.bits.last := h.in.bits.last
    farm.io.in.bits.error := false.B
    h.in.ready := farm.io.in.ready && jobRoom
    when(h.in.fire) { first := h.in.bits.last }

    val job = WireInit(PathJob.none)
    job.route := h.in.bits.meta.route
    job.lane.suite := Suite.named("aes128gcm16").number.U
    job.lane.key := h.in.bits.meta.key
    job.lane.meta := h.in.bits.meta.link
    farm.io.job.valid := h.in.fire && first
    farm.io.job.bits := job
    farm.io.hold := false.B
    farm.io.runTest := false.B
    h.out <> farm.io.out

    val age = RegInit(0.U(16.W))
    age := Mux(age + 1.U >= h.setting, 0.U, age + 1.U)
    farm.io.blocked := RegNext(age >= 1.U && age < 120.U, false.B)
    farm.io.zeroize := RegNext(age >= 2.U && age < 6.U, false.B)

    h.events(0) := farm.io.drop.valid
    val merged = farm.io.merged
    h.events(1) := merged.valid && merged.bits.verdict === Verdict.ok
    h.events(2) := merged.valid && merged.bits.verdict =/= Verdict.ok && merged.bits.verdict =/= Verdict.zeroized
    h.events(3) := merged.valid && merged.bits.verdict === Verdict.zeroized
  })

  private def packet(length: Int, index: Int, random: Random, mixed: Boolean): Packet = {
    val bytes = new Array[Byte](length)
    random.nextBytes(bytes)
    if (mixed && random.nextInt(6) == 0) bytes(0) = (0xe0 + 1 + random.nextInt(5)).toByte
    else bytes(0) = (bytes(0) & 0x7f).toByte
    if (length > 1 && !mixed) bytes(1) = 0
    val route = if (!mixed || random.nextInt(4) != 0) laneRoute else 1 + random.nextInt(Route.all.length - 1)
    val link = LinkMetaValue(length, index % 1000, bypass = route == bypassRoute, tos = random.nextInt(256))
    Packet(bytes.toSeq, meta(route, 1 + random.nextInt(255), link))
  }

  private def routeOf(p: Packet): Int = (p.meta >> (LinkMetaValue.width + 8)).toInt

  /** What a packet is behind the farm, were everything well. */
  private def through(p: Packet): Packet = {
    val key = ((p.meta >> LinkMetaValue.width) & 0xff).toInt
    val link = p.meta & ((BigInt(1) << LinkMetaValue.width) - 1)
    if (routeOf(p) == bypassRoute) Packet(p.bytes, link)
    else Packet(p.bytes.map(b => (b ^ key).toByte), link)
  }

  private def survives(p: Packet): Boolean =
    routeOf(p) == bypassRoute || (routeOf(p) == laneRoute && (p.bytes.head & 0xff) < 0xe0)

  test("packets keep their order, bad ones and dropped ones leave no trace, and everything is accounted for") {
    withBench(harness) { bench =>
      val random = new Random(3)
      val lengths = random.shuffle(matrixLengths ++ Seq.fill(400)(1 + random.nextInt(200)))
      val sent = lengths.zipWithIndex.map { case (length, i) => packet(length, i, random, mixed = true) }
      bench.load(sent)
      val expected = sent.filter(survives).map(through)
      for ((idle, pressure) <- Seq((0, 0), (0, 1), (2, 0), (0, 3), (4, 4), (2, 2))) {
        bench.run(idle, pressure, seed = 7)
        comparePackets(bench.received, expected, s"idle $idle, pressure $pressure")
        assert(bench.events(0) == sent.count(p => routeOf(p) != laneRoute && routeOf(p) != bypassRoute))
        assert(bench.events(1) == expected.length)
        assert(bench.events(2) + bench.events(3) == sent.length - bench.events(0) - bench.events(1))
      }

      // One lane would need 4 beats where four need one: a beat a cycle, and a packet every
      // 2 cycles.
      val quick = Seq.fill(300)(40).zipWithIndex.map { case (length, i) => packet(length, i, random, mixed = false) }
      bench.load(quick)
      bench.run(0, 0, seed = 1)
      info(s"latency ${bench.latency} cycles; 300 packets of one beat in ${bench.cycles} cycles")
      assert(bench.cycles <= 2 * 300 + 30)
      val long = Seq.fill(100)(1400).zipWithIndex.map { case (length, i) => packet(length, i, random, mixed = false) }
      bench.load(long)
      bench.run(0, 0, seed = 1)
      assert(bench.cycles <= 100 * 22 + 60, s"100 packets of 22 beats took ${bench.cycles} cycles")
    }
  }

  test("a zeroize lets nothing out half done or under a wiped key, and loses no count") {
    for (period <- Seq(601, 970)) withBench(harness) { bench =>
      val random = new Random(4)
      val sent =
        Seq.tabulate(600)(i => packet(1 + random.nextInt(if (i % 10 == 0) 2000 else 300), i, random, mixed = true))
      bench.load(sent)
      for ((idle, pressure) <- Seq((0, 0), (0, 3), (2, 1), (4, 4))) {
        bench.run(idle, pressure, seed = 5, settle = 1500, setting = period)
        // What came out is a subsequence of what should, bit for bit.
        val candidates = sent.filter(survives).map(through).iterator
        val received = bench.received
        for ((got, index) <- received.zipWithIndex)
          if (!candidates.contains(got)) fail(s"packet $index was sent by nobody")
        assert(bench.events(3) > 0, "the zeroize met packets in the lanes")
        val count = received.length
        assert(count == bench.events(1), s"idle $idle, pressure $pressure")
        assert((0 to 3).map(bench.events).sum == sent.length)
      }
    }
  }
}
