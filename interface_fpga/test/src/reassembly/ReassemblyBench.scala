// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.simulator.PeekPokeAPI
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.{Pace, Packet, StreamBench, StreamEnds, StreamHarness}

import scala.collection.mutable
import scala.util.Try

/** Holds the [[Reassembler]] that [[ReassemblyHarness]] puts between source and sink. */
private class ReassemblerSlot(p: ReassemblyConfig) {
  var reassembler: Reassembler = _
  def place(ends: StreamEnds[FragmentInfo, ReassembledMeta]): Unit = {
    reassembler = Module(new Reassembler(p))
    reassembler.io.in <> ends.in
    ends.out <> reassembler.io.out
    ends.events(0) := ends.in.valid && !ends.in.ready
  }
}

/**
 * A [[Reassembler]] between source and sink, with counters of its events that live as long as
 * it does.
 */
class ReassemblyHarness private (val p: ReassemblyConfig, slot: ReassemblerSlot)
    extends StreamHarness(new FragmentInfo, new ReassembledMeta, 4096)(slot.place) {
  def this(p: ReassemblyConfig) = this(p, new ReassemblerSlot(p))

  private val reassembler = slot.reassembler
  private val events = reassembler.io.events.elements.toSeq.reverse
  val names: Seq[String] = events.map(_._1.stripPrefix("drop").toLowerCase)
  val control = IO(new Bundle {
    val limits = Input(new ReassemblyLimits(p))
    val tick = Input(Bool())
    val ready = Output(Bool())
    val counts = Output(Vec(names.size, UInt(32.W)))
  })
  reassembler.io.limits := control.limits
  reassembler.io.tick := control.tick
  control.ready := reassembler.io.ready
  for (((_, event), count) <- events.zip(control.counts)) {
    val total = RegInit(0.U(32.W))
    total := total + (event match {
      case change: SInt => change.pad(32).asUInt
      case frames => frames.asUInt
    })
    count := total
  }
}

/** Plays arrivals to a [[Reassembler]] and compares with [[ByteMapReassembly]]. */
class ReassemblyBench(dut: ReassemblyHarness, timeout: Int = 10, perSource: Int = 32) extends PeekPokeAPI {
  private val stream = new StreamBench(dut)
  val reference = new ByteMapReassembly(dut.p, timeout, perSource)
  private var fragments = 0
  private var reassembled = 0

  dut.control.tick.poke(false.B)
  dut.io.load.valid.poke(false.B)
  dut.io.clear.poke(false.B)
  dut.io.start.poke(false.B)
  dut.control.limits.timeout.poke(timeout)
  dut.control.limits.perSource.poke(perSource)
  dut.reset.poke(true.B)
  dut.clock.step(2)
  dut.reset.poke(false.B)
  while (!dut.control.ready.peek().litToBoolean) dut.clock.step(10)

  def counts: Map[String, Int] = dut.names.zip(dut.control.counts).map { case (name, count) =>
    name -> count.peek().litValue.toInt
  }.toMap
  def cycles: Int = stream.cycles
  def stalls: Int = stream.events(0)

  /** Time passes. Without `settle` cycles the sweep of the table has not come far. */
  def tick(ticks: Int, settle: Int = 2000): Unit = {
    for (_ <- 0 until ticks) reference.tick()
    dut.control.tick.poke((ticks > 0).B)
    dut.clock.step(ticks max 1)
    dut.control.tick.poke(false.B)
    dut.clock.step(settle max 1)
  }

  /** Plays, compares every packet and counter, and gives the reassembled packets. */
  def play(arrivals: Seq[Arrival], idle: Int = Pace.Half, pressure: Int = Pace.Always, seed: Int = 1): Seq[Packet] = {
    val made = arrivals.flatMap(_.fragment).flatMap(reference.take)
    val (whole, rebuilt) = run(arrivals, idle, pressure, seed)
    same(whole, arrivals.filter(_.fragment.isEmpty).map(a => packet(a.bytes, 0)), "whole packets")
    same(rebuilt, made.map(packet(_, 1)), "reassembled packets")
    same()
    rebuilt
  }

  /**
   * Plays and compares nothing but the account of frames; packets that were whole, and packets
   * that were made.
   */
  def run(arrivals: Seq[Arrival], idle: Int, pressure: Int, seed: Int): (Seq[Packet], Seq[Packet]) = {
    stream.load(arrivals.map(_.packet))
    stream.run(idle, pressure, seed)
    fragments += arrivals.count(_.fragment.nonEmpty)
    val (rebuilt, whole) = stream.received.partition(_.meta.testBit(0))
    reassembled += rebuilt.size
    assert(counts("reassembled") == reassembled, "datagrams that were counted and those that came")
    (whole, rebuilt)
  }

  /** The counters and the gauge are the reference's, and the account of frames is whole. */
  def same(): Unit = {
    val expected = dut.names.map(name => name -> reference.counts(name)).toMap + ("held" -> reference.held)
    assert(counts == expected, s"counters $counts, not $expected")
    balanced()
  }

  /** Fragments in = datagrams out + merged + drops + held. */
  def balanced(): Unit = assert(fragments == counts.values.sum, s"$fragments fragments: $counts")

  /** Frames that are held, by the gauge. */
  def held: Int = {
    balanced()
    counts("held")
  }

  private def packet(bytes: Seq[Byte], flag: Int) = Packet(bytes, BigInt(2 * bytes.length + flag))

  private def same(got: Seq[Packet], want: Seq[Packet], clue: String): Unit = {
    for (((g, w), i) <- got.zip(want).zipWithIndex if g != w) {
      val at = g.bytes.zipAll(w.bytes, 0, 0).indexWhere { case (a, b) => a != b }
      def part(packet: Packet) = packet.bytes.slice(at - 4, at + 40).map(b => f"$b%02x").mkString
      val sizes = s"number $i of ${want.size}, ${g.bytes.size} B for ${w.bytes.size} B"
      assert(false, s"$clue: $sizes, byte $at: ${part(g)} for ${part(w)}")
    }
    assert(got.size == want.size, s"$clue: ${got.size} came, not ${want.size}")
  }
}

/**
 * Tests that run one after the other on one compiled model, each with a bench of its own after
 * a reset.
 */
trait ReassemblyTests extends AnyFunSuite with CompiledOnce {
  def config: ReassemblyConfig

  private val bodies = mutable.LinkedHashMap.empty[String, ReassemblyHarness => Unit]
  private lazy val results: Map[String, Try[Unit]] = {
    val results = mutable.Map.empty[String, Try[Unit]]
    simulate(new ReassemblyHarness(config)) { dut =>
      for ((name, body) <- bodies) results += name -> Try(body(dut))
    }
    results.toMap
  }

  def subtest(name: String)(body: ReassemblyHarness => Unit): Unit = {
    bodies(name) = body
    test(name) { results(name).get }
  }
}
