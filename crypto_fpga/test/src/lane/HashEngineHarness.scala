// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.simulator.PeekPokeAPI
import chisel3.util._
import sallyport.crypto.hash.HashKind
import sallyport.crypto.support.Bytes

import scala.collection.mutable
import scala.util.Random

/** The engine with a memory instead of the lane: a ring of 256 beats for each slot. */
class HashEngineHarness(kinds: Set[HashKind.Type]) extends Module {
  import HashEngineHarness._
  val io = IO(new Bundle {
    val engine = new HashEnginePorts(slots, rowBits)
    val write = Flipped(Valid(new Bundle { val row = UInt(rowBits.W); val data = UInt(512.W) }))
  })
  private def next(base: UInt, j: UInt): UInt = base(rowBits - 1, ringBits) ## (base + j)(ringBits - 1, 0)
  private val engine = Module(new HashEngine(slots, rowBits, kinds, next))
  private val memory = SyncReadMem(1 << rowBits, UInt(512.W))
  when(io.write.valid) { memory.write(io.write.bits.row, io.write.bits.data) }
  engine.io <> io.engine
  engine.io.beat := RegNext(memory.read(engine.io.read.bits, engine.io.read.valid))
}

object HashEngineHarness {
  val slots = 64
  val ringBits = 8
  val rowBits: Int = log2Ceil(slots) + ringBits
}

/** Drives the harness, which it resets first. */
class HashEngineBench(dut: HashEngineHarness) extends PeekPokeAPI {
  import HashEngineHarness._
  private val io = dut.io.engine
  private val pulses = Seq(io.load.valid, io.polyKey.valid, io.start.valid, io.grown.valid, dut.io.write.valid)

  /** Rows that may be read now. */
  private val readable = mutable.Set.empty[Int]
  var cycle = 0
  var reads = 0

  io.wipe.poke(false)
  io.beat.poke(0)
  pulses.foreach(_.poke(false))
  dut.reset.poke(true)
  dut.clock.step(2)
  dut.reset.poke(false)

  /** A cycle with all that was asked for; the packet that is done after it, its slot and tag. */
  def step(): Option[(Int, String)] = {
    dut.clock.step()
    cycle += 1
    pulses.foreach(_.poke(false))
    if (io.read.valid.peekValue().asBigInt == 1) {
      reads += 1
      assert(readable(io.read.bits.peekValue().asBigInt.toInt), s"a row that is not there is read in cycle $cycle")
    }
    Option.when(io.done.valid.peekValue().asBigInt == 1)(
      (
        io.done.bits.slot.peekValue().asBigInt.toInt,
        Bytes.toHex(Bytes.fromBigInt(io.done.bits.tag.peekValue().asBigInt, 32))
      )
    )
  }

  def wipe(cycles: Int): Unit = {
    io.wipe.poke(true)
    for (_ <- 0 until cycles) assert(step().isEmpty)
    io.wipe.poke(false)
  }

  def load(slot: Int, packet: HashPacket): Unit =
    if (packet.kind == HashKind.poly1305) {
      io.polyKey.valid.poke(true)
      io.polyKey.bits.slot.poke(slot)
      io.polyKey.bits.r.poke(Bytes.toBigInt(packet.auth.take(16)))
      io.polyKey.bits.s.poke(Bytes.toBigInt(packet.auth.drop(16)))
    } else {
      io.load.valid.poke(true)
      io.load.bits.slot.poke(slot)
      io.load.bits.auth.poke(Bytes.toBigInt(packet.auth))
    }

  def start(slot: Int, packet: HashPacket, base: Int, complete: Boolean): Unit = {
    io.start.valid.poke(true)
    val bits = io.start.bits
    bits.slot.poke(slot)
    bits.kind.poke(packet.kind)
    bits.base.poke(base)
    bits.messageBytes.poke(packet.bytes.length)
    bits.textBytes.poke(math.max(0, packet.bytes.length - 16))
    bits.esn.poke(packet.esn)
    bits.sequenceHigh.poke(Bytes.toBigInt(packet.sequenceHigh))
    bits.head.poke(Bytes.toBigInt(packet.head))
    bits.complete.poke(complete)
  }

  def row(base: Int, beat: Int): Int = base >> ringBits << ringBits | (base + beat) % (1 << ringBits)

  /** Writes a beat, the last one filled up with something that must not count. */
  def write(packet: HashPacket, base: Int, beat: Int): Unit = {
    dut.io.write.valid.poke(true)
    dut.io.write.bits.row.poke(row(base, beat))
    dut.io.write.bits.data.poke(Bytes.toBigInt(packet.bytes.slice(64 * beat, 64 * beat + 64).padTo(64, 0xa5.toByte)))
    readable += row(base, beat)
  }

  def grow(slot: Int, last: Boolean): Unit = {
    io.grown.valid.poke(true)
    io.grown.bits.slot.poke(slot)
    io.grown.bits.last.poke(last)
  }

  /**
   * A packet in its slot. `started` and `written`: the engine knows of the packet, and of so
   * many beats.
   */
  private class Visit(val number: Int, val packet: HashPacket, val slot: Int, val base: Int, val complete: Boolean) {
    val beats: Int = (packet.bytes.length + 63) / 64
    var loaded = false
    var started = false
    var written = 0
  }

  /**
   * Runs packets in all slots at once, complete ones and growing ones, each step at random; gives
   * their tags.
   */
  def run(packets: Seq[HashPacket], random: Random): Seq[String] = {
    val tags = Array.fill(packets.size)("")
    val coming = packets.zipWithIndex.to(mutable.Queue)
    val free = (0 until slots).to(mutable.Queue)
    val visits = mutable.Map.empty[Int, Visit]
    def pick(from: Iterable[Visit]): Option[Visit] =
      Option.when(from.nonEmpty)(from.toSeq.sortBy(_.number).apply(random.nextInt(from.size)))
    val growing = mutable.Set.empty[Int]
    var idle = 0
    while (coming.nonEmpty || visits.nonEmpty) {
      if (coming.nonEmpty && free.nonEmpty && random.nextInt(3) == 0) {
        val (packet, number) = coming.dequeue()
        val slot = free.dequeue()
        visits(slot) =
          new Visit(number, packet, slot, slot << ringBits | random.nextInt(1 << ringBits), random.nextBoolean())
      }
      pick(visits.values.filter(v => !v.loaded)).foreach { v =>
        load(v.slot, v.packet)
        v.loaded = true
      }
      pick(visits.values.filter(v => v.loaded && !v.started && (!v.complete || v.written == v.beats))) match {
        case Some(v) if random.nextInt(4) != 0 =>
          start(v.slot, v.packet, v.base, v.complete)
          v.started = true
        case _ =>
      }
      // Events of a packet come after its start, so not in the cycle of it.
      pick(visits.values.filter(v => v.written < v.beats && (v.complete || growing(v.slot)))) match {
        case Some(v) if random.nextInt(8) != 0 =>
          write(v.packet, v.base, v.written)
          v.written += 1
          if (!v.complete) grow(v.slot, v.written == v.beats)
        case _ =>
      }
      growing ++= visits.values.filter(_.started).map(_.slot)
      idle = if (step().map(finish).isDefined) 0 else idle + 1
      assert(idle < 40000, s"nothing is done any more; in slots ${visits.keys.toSeq.sorted}")
    }
    def finish(done: (Int, String)): Unit = {
      val v = visits.remove(done._1).getOrElse(throw new AssertionError(s"slot ${done._1} is done twice"))
      assert(v.started && v.written == v.beats)
      tags(v.number) = done._2
      (0 until v.beats).foreach(beat => readable -= row(v.base, beat))
      growing -= v.slot
      free += v.slot
    }
    tags.toSeq
  }
}
