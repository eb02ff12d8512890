// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.simulator.PeekPokeAPI
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{NetworkRow, PuntReason}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.{Pace, Packet, StreamBench, StreamEnds, StreamHarness}
import sallyport.iface.mac.{MacReceive, RxMeta}
import sallyport.iface.outer.{Outcome, OuterFrame, OuterFrames}
import sallyport.iface.parse.ExtensionSkip
import sallyport.iface.reassembly.{ChipFragments, ReassemblyConfig, ScapyCuts}
import sallyport.iface.tracking.{TrackerConfig, UpperFields}

import scala.io.Source
import scala.util.Random

/**
 * A [[FragmentDetour]] between source and sink; events: stalls, whole datagrams, cycles with drops.
 * The setting is one of those below.
 */
private object DetourHarness {
  val router = 0
  val bump = 1

  /** A router that tells who sends bad fragments to it. */
  val end = 2

  /** Each frame is one that comes back. */
  val back = 3

  /** The address there is [[OuterFrames.localIpv6]]. */
  def connect(ends: StreamEnds[RxMeta, WholeMeta]): Unit = {
    val dut = Module(new FragmentDetour(ReassemblyConfig.small, TrackerConfig.small, ends = true))
    dut.io.bump := ends.setting === bump.U
    dut.io.own.valid := ends.setting === end.U
    dut.io.own.bits.v4 := 1.U
    dut.io.own.bits.v6 := OuterFrames.localIpv6.U
    dut.io.macFilter := false.B
    dut.io.portMac := 0.U
    dut.io.sources := 0.U.asTypeOf(dut.io.sources)
    dut.io.limits.timeout := 1000.U
    dut.io.limits.perSource := 64.U
    dut.io.skip := ExtensionSkip.all
    val isBack = ends.setting === back.U
    for ((to, here) <- Seq(dut.io.in -> !isBack, dut.io.back -> isBack)) {
      to.bits := ends.in.bits
      to.valid := ends.in.valid && here
    }
    ends.in.ready := Mux(isBack, dut.io.back.ready, dut.io.in.ready)
    ends.out <> dut.io.out
    ends.events(0) := ends.in.valid && !ends.in.ready
    ends.events(1) := dut.io.events.reassembly.reassembled
    ends.events(2) := Seq(dut.io.events.reassembly, dut.io.events.tracking).flatMap(_.elements).collect {
      case (name, count) if name.startsWith("drop") => count.asUInt.orR
    }.reduce(_ || _)
  }
}

private class DetourHarness extends StreamHarness(new RxMeta, new WholeMeta, 4096)(DetourHarness.connect)

/**
 * Judged by scapy: the frames that its dissector was asked about, and the datagrams that
 * it cut.
 */
class FragmentDetourSpec extends AnyFunSuite with CompiledOnce {
  private val upperBits = new UpperFields().getWidth
  private def bytes(hex: String): Seq[Byte] = hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq
  private def packet(bytes: Seq[Byte]): Packet = Packet(bytes, bytes.length)

  private class Bench(dut: DetourHarness, setting: Int = DetourHarness.router) extends PeekPokeAPI {
    val stream = new StreamBench(dut)

    /** After reset, with the tables set up. */
    def reset(): Unit = {
      dut.io.load.valid.poke(false.B)
      dut.io.clear.poke(false.B)
      dut.io.start.poke(false.B)
      dut.reset.poke(true.B)
      dut.clock.step(2)
      dut.reset.poke(false.B)
      dut.clock.step(1000)
    }

    def play(frames: Seq[Seq[Byte]], idle: Int, pressure: Int): Seq[Seq[Byte]] = {
      val (plain, noticed) = judged(frames, idle, pressure)
      assert(noticed.isEmpty, "notices")
      plain
    }

    /** Frames without a notice, and those with one. */
    def judged(frames: Seq[Seq[Byte]], idle: Int, pressure: Int): (Seq[Seq[Byte]], Seq[Seq[Byte]]) = {
      val (noticed, plain) = followed(frames, idle, pressure).partition(_._2.testBit(upperBits + 1))
      (plain.map(_._1), noticed.map(_._1))
    }

    /** Frames, each with its metadata: a notice in front of the upper-layer fields. */
    def followed(frames: Seq[Seq[Byte]], idle: Int, pressure: Int): Seq[(Seq[Byte], BigInt)] = {
      stream.load(frames.map(packet))
      stream.run(idle, pressure, 1, setting = setting)
      val got = stream.received
      val injectedBits = 1 + NetworkRow.network.width + 1
      assert(
        got.forall(p => p.meta >> (upperBits + 2) == BigInt(p.bytes.length) << injectedBits),
        "lengths, and none injected or out of a tunnel"
      )
      got.map(p => (p.bytes, p.meta & ((BigInt(1) << (upperBits + 2)) - 1)))
    }

    /** The upper-layer fields of a fragment that goes on as one. */
    def upper(said: BigInt): Option[BigInt] =
      Option.when(said.testBit(upperBits))(said & ((BigInt(1) << upperBits) - 1))
  }

  /** Frame, whether it is IPv6, and whether it is a fragment that can be judged. */
  private lazy val dissected: Seq[(Seq[Byte], Boolean, Boolean)] = {
    val (comments, lines) = Source.fromResource("parser_frames.txt").getLines().toSeq.partition(_.startsWith("#"))
    val columns = comments(1).split(": ").last.split(" ")
    lines.map { line =>
      val row = columns.zip(line.split(" ")).toMap
      def flag(name: String): Boolean = row(name) == "1"
      val ip = row("etherClass").startsWith("ipv")
      val sound = ip && !Seq("malformed", "unfinished", "checksumBad").exists(flag)
      (bytes(row("frame")), row("etherClass") == "ipv6", sound && flag("fragment"))
    }
  }

  test("whatever is no fragment passes as it came; what passes by keeps its order") {
    assert(dissected.count(_._3) > 20)
    simulateShared(())(new DetourHarness) { dut =>
      val bench = new Bench(dut)
      for ((group, i) <- new Random(1).shuffle(dissected).grouped(400).zipWithIndex) {
        bench.reset()
        val got = bench.play(group.map(_._1), Pace.all(i % 5), Pace.all((i + 2) % 5))
        val whole = group.filterNot(_._3)
        val missing = whole.map(_._1).diff(got)
        assert(missing.isEmpty)
        val fragments = group.filter(_._3).map(_._1)
        assert(got.diff(whole.map(_._1)).forall(fragments.contains))
        val v4 = whole.filterNot(_._2).map(_._1)
        assert(got.filter(v4.toSet) == v4)
      }
    }
  }

  test("what scapy cut goes on with what the first fragment says, in any order, among other frames") {
    val cuts = ScapyCuts.read("reassembly_packets.txt").filter(_.packet.length <= MacReceive.maxBytes)
      .filter(c => c.fragments.head.of.link.nonEmpty && c.fragments.size > 1)
    val dice = new Random(3)
    val others = dissected.filterNot(_._3).map(_._1).filter(_.length < 300)
    simulateShared(())(new DetourHarness) { dut =>
      val bench = new Bench(dut)
      for (group <- cuts.take(24).grouped(3)) {
        bench.reset()
        val fragments = dice.shuffle(group.flatMap(_.arrivals.map(_.bytes)))
        val frames = fragments.flatMap(f => f +: Seq.fill(dice.nextInt(3))(others(dice.nextInt(others.size))))
        val got = bench.followed(frames, Pace.Half, Pace.Half)
        assert(bench.stream.events(1) == 0 && bench.stream.events(2) == 0)
        assert(got.map(_._1).sortBy(_.toString) == frames.sortBy(_.toString))
        for (cut <- group) {
          val said = got.filter(g => cut.arrivals.map(_.bytes).contains(g._1)).map(g => bench.upper(g._2))
          assert(said.size == cut.arrivals.size && said.toSet.size == 1 && said.head.nonEmpty)
        }
        assert(got.filterNot(g => fragments.contains(g._1)).forall(g => bench.upper(g._2).isEmpty))
      }
    }
  }

  test("what comes back is whole again, in any order, behind any number of tags, among other frames") {
    val cuts = ScapyCuts.read("reassembly_packets.txt").filter(_.packet.length <= MacReceive.maxBytes)
      .filter(_.fragments.head.of.link.nonEmpty)
    assert(cuts.map(_.fragments.head.of.link.length).toSet == Set(14, 18, 22))
    val dice = new Random(2)
    val others = dissected.filterNot(_._3).map(_._1).filter(_.length < 300)
    simulateShared(())(new DetourHarness) { dut =>
      val bench = new Bench(dut, DetourHarness.back)
      for (group <- cuts.grouped(8)) {
        bench.reset()
        val fragments = dice.shuffle(group.flatMap(_.arrivals.map(_.bytes)))
        val frames = fragments.flatMap(f => f +: Seq.fill(dice.nextInt(3))(others(dice.nextInt(others.size))))
        val got = bench.play(frames, Pace.Half, Pace.Always)
        // A fragment that is all of its datagram passes as it came (RFC 6946).
        val (cutUp, atomic) = group.partition(_.fragments.size > 1)
        assert(bench.stream.events(1) == cutUp.size && bench.stream.events(2) == 0)
        for (whole <- atomic) assert(got.contains(whole.arrivals.head.bytes))
        for (cut <- cutUp) assert(got.contains(cut.packet), s"a datagram of ${cut.packet.length} B is not there")
        assert(got.size == frames.size - fragments.size + group.size)
      }
    }
  }

  test("fragments of one link and of multicast are followed in a bump in the wire, and pass as frames elsewhere") {
    val cuts = ChipFragments.of("link")
    assert(cuts.size >= 2 && cuts.forall(_.fragments.size > 1))
    simulateShared(())(new DetourHarness) { dut =>
      for (bump <- Seq(true, false)) {
        val bench = new Bench(dut, if (bump) DetourHarness.bump else DetourHarness.router)
        bench.reset()
        for (cut <- cuts; order <- Seq(cut.fragments, cut.fragments.reverse)) {
          val got = bench.followed(order, Pace.Half, Pace.Always)
          assert(got.map(_._1).toSet == order.toSet && got.size == order.size, s"${cut.name} $bump")
          assert(got.forall(g => bench.upper(g._2).nonEmpty == bump), s"${cut.name} $bump")
        }
        assert(bench.stream.events(2) == 0)
      }
    }
  }

  test("a fragment whose sender has to be told passes as it came, with a notice; its datagram takes another one") {
    val cut = ChipFragments.of("outer").find(_.name == "esp6").get
    val bad = OuterFrames.all.collect {
      case OuterFrame(name, bytes, Outcome.Punt(PuntReason.reasm, _)) if name.startsWith("told_same") => bytes
    }
    assert(bad.size >= 3)
    val frames = Seq(bad.head, cut.fragments.head) ++ bad.tail ++ cut.fragments.tail
    simulateShared(())(new DetourHarness) { dut =>
      for (ours <- Seq(true, false)) {
        val bench = new Bench(dut, if (ours) DetourHarness.end else DetourHarness.router)
        bench.reset()
        val (plain, noticed) = bench.judged(frames, Pace.Half, Pace.Half)
        assert(noticed == (if (ours) bad else Nil), ours)
        assert(plain == Seq(cut.whole), ours)
        assert((bench.stream.events(2) == 0) == ours, ours)
      }
    }
  }

  test("latency and rate of what passes by") {
    simulateShared(())(new DetourHarness) { dut =>
      val bench = new Bench(dut)
      bench.reset()
      val whole =
        dissected.map(_._1).find(f => f.slice(12, 14) == bytes("0800") && (f(20) & 0x3f) == 0 && f(21) == 0).get
      assert(bench.play(Seq.fill(500)(whole), Pace.Always, Pace.Always).size == 500)
      val beats = 500 * packet(whole).beats
      info(s"$beats beats in ${bench.stream.cycles} cycles, the first after ${bench.stream.latency}")
      assert(bench.stream.latency == 3 && bench.stream.cycles <= beats + 3 && bench.stream.events(0) == 0)
    }
  }
}
