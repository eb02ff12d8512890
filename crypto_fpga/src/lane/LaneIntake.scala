// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.LowestOne
import sallyport.common.stream.PacketStream
import sallyport.crypto.suite.Suite

/** The lengths of a packet in a lane. */
class LaneFrame extends Bundle {

  /** Beats set aside in each buffer. */
  val beats = UInt(LaneFrame.beatBits.W)

  /** Encrypt: bytes of the inner packet. */
  val payload = UInt(PacketStream.lengthBits.W)

  /** Bytes of ciphertext: payload, padding and the two bytes of the trailer. */
  val text = UInt(PacketStream.lengthBits.W)
}

object LaneFrame {

  /** Bits that count the beats of one packet. */
  val beatBits = 8

  /** Beats of the longest packet, with those that it may grow by. */
  val most: Int = PacketStream.maxFrameBytes / PacketStream.dataBytes + 2
}

/** The room of a packet that has left: its beats, and the slot of a fast one. */
class LaneRelease extends Bundle {
  val fast = Bool()
  val beats = UInt(LaneFrame.beatBits.W)
}

/**
 * The entrance of a lane: gives each packet a slot and room in the buffers, writes it, and
 * measures it.
 *
 * A beat a cycle; stalls with `hold` and `pause`, and 3 cycles behind a slow packet of one beat.
 * `room` is low for a class while the slots of its class are taken or its beats would not hold the
 * longest packet. It is a register, late by two cycles; the limits allow for them. Beats are rings:
 * taken in order of arrival, given back in that order by `release`. So are the slots of fast
 * packets. A slow packet has the first free slot, which is known 3 cycles after the last one has
 * begun; until then none begins. From red to black a packet grows by 41 bytes at most before its
 * ICV, so one more beat is set aside for it.
 *
 * `begin` is in the cycle of a packet's first beat; three cycles after a beat it is told on: by
 * `opens` the first one, by `arrived` the last.
 */
class LaneIntake(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LaneJob))
    val hold = Input(Bool())

    /** Nothing is written in two cycles. */
    val pause = Input(Bool())

    /** Index 0: slow packets, 1: fast ones. */
    val room = Output(Vec(2, Bool()))
    val write = Valid(new BeatWrite(config))
    val begin = Valid(new Bundle {
      val slot = UInt(config.slotBits.W)

      /** The packet's first beat, the same in all buffers. */
      val base = UInt(config.rowBits.W)
    })

    /** The slot of `opens` and `arrived`, which are never in one cycle, and of `entered`. */
    val slot = Output(UInt(config.slotBits.W))

    /** A fast packet begins that has more beats than one. */
    val opens = Output(Bool())

    /** Beats of the packet that are in the buffer; of one that has arrived, without the last. */
    val entered = Output(UInt(LaneFrame.beatBits.W))
    val arrived = Valid(new Bundle {
      val frame = new LaneFrame

      /** No ESP packet of this suite has this length, or the input said `error`. */
      val malformed = Bool()

      /** `opens` was there before. */
      val opened = Bool()
    })
    val release = Flipped(Valid(new LaneRelease))

    /** A slow packet has left its slot: [[LaneRetire]]. */
    val retired = Input(Bool())

    /** Slots that have a packet, two cycles after it began. */
    val slots = Input(UInt(config.slots.W))

    /** Two thirds of the slots for slow packets have one. */
    val crowded = Output(Bool())

    /** There was no slow packet in the cycle before, and where the next one began or begins. */
    val noSlow = Output(Bool())
    val nextSlow = Output(UInt(config.rowBits.W))

    /** A packet is in the lane or has begun to enter it; a cycle longer. */
    val occupied = Output(Bool())
  })

  private val spare = if (config.encrypt) 1 else 0
  private val inside = RegInit(false.B)
  private val fullBeats = RegInit(0.U(LaneFrame.beatBits.W))
  private val take = io.in.fire
  private val last = take && io.in.bits.last
  private val begins = take && !inside
  private val job = io.in.bits.meta
  private val isFast = Suite.is(job.suite)(_.fast)
  private val insideNext = Mux(take, !io.in.bits.last, inside)
  private val slowSlot = new SlowSlot(begins && !isFast)
  io.in.ready := RegNext(!io.hold && !io.pause && (insideNext || slowSlot.stays), false.B)

  when(take) {
    inside := !io.in.bits.last
    fullBeats := Mux(io.in.bits.last, 0.U, fullBeats + 1.U)
  }

  private val rings = Seq(false, true).map { fast =>
    val mine = isFast === fast.B
    val (slots, beats) = (config.slotRings.places(fast), config.beatRings.places(fast))
    val slot = if (fast) {
      val slot = RegInit(config.slotRings.start(fast).U(config.slotBits.W))
      when(last && mine) { slot := config.slotRings.after(slot, 1.U) }
      slot
    } else slowSlot.of(inside)
    val row = RegInit(config.beatRings.start(fast).U(config.rowBits.W))
    when(take && mine) { row := config.beatRings.after(row, Mux(io.in.bits.last, (1 + spare).U, 1.U)) }

    val usedSlots = RegInit(0.U(log2Ceil(config.slots + 1).W))
    val usedBeats = RegInit(0.U(log2Ceil(config.bufferBeats + 1).W))
    val released = io.release.valid && io.release.bits.fast === fast.B
    usedSlots := usedSlots + (begins && mine) - (if (fast) released else io.retired)
    usedBeats := usedBeats + Mux(mine, Mux(last, (1 + spare).U, take), 0.U) - Mux(released, io.release.bits.beats, 0.U)
    assert(usedSlots <= slots.U)
    assert(usedBeats <= beats.U)
    val room =
      if (slots == 0) false.B
      else usedSlots <= (slots - 3).U && usedBeats <= (beats - LaneFrame.most - 8).U
    io.room(if (fast) 1 else 0) := RegNext(room && !io.hold, false.B)
    if (!fast) {
      io.crowded := RegNext(usedSlots >= (slots * 2 / 3).U, false.B)
      io.noSlow := RegNext(usedBeats === 0.U, true.B)
      io.nextSlow := RegNext(row, config.beatRings.start(fast).U(config.rowBits.W))
    }
    (slot, row, RegNext(usedBeats =/= 0.U, false.B))
  }
  private val slot = Mux(isFast, rings(1)._1, rings(0)._1)
  private val row = Mux(isFast, rings(1)._2, rings(0)._2)
  io.occupied := rings.map(_._3).reduce(_ || _) || io.write.valid

  io.begin.valid := begins
  io.begin.bits.slot := slot
  io.begin.bits.base := row
  io.write.valid := RegNext(take, false.B)
  io.write.bits.row := RegEnable(row, take)
  io.write.bits.data := RegEnable(io.in.bits.data, take)
  io.write.bits.record := false.B

  // Measure: all bytes, then those that are not text, then text; each a cycle. By then the last
  // beat is in the buffer.
  private val bytes = RegEnable((fullBeats << 6) + io.in.bits.bytes, last)
  private val suite = RegEnable(job.suite, last)
  private val icv = RegEnable(job.icv, last)
  private val overhead = RegNext(Suite.choose(suite)(_.headBytes) +& Suite.icvLength(suite, icv))
  private val padTo16 = RegNext(Suite.is(suite)(_.padTo == 16))
  private val bytes2 = RegNext(bytes)

  private val frame = Reg(new LaneFrame)
  frame.beats := ShiftRegister(RegEnable(fullBeats + (1 + spare).U, last), 1)
  frame.payload := bytes2
  private val error = ShiftRegister(RegEnable(io.in.bits.error, last), 1)
  private val malformed = Reg(Bool())
  if (config.encrypt) {
    val padded4 = Cat((bytes2 + 5.U) >> 2, 0.U(2.W))
    val padded16 = Cat((bytes2 + 17.U) >> 4, 0.U(4.W))
    frame.text := Mux(padTo16, padded16, padded4)
    malformed := error
  } else {
    val text = bytes2 -% overhead
    frame.text := text
    malformed := error || bytes2 < overhead +& Mux(padTo16, 16.U, 4.U) || text(1, 0) =/= 0.U ||
      (padTo16 && text(3, 2) =/= 0.U)
  }
  io.arrived.valid := ShiftRegister(last, 3, false.B, true.B)
  io.arrived.bits.frame := frame
  io.arrived.bits.malformed := malformed
  io.arrived.bits.opened := ShiftRegister(isFast && inside, 3)
  io.opens := ShiftRegister(begins && isFast && !last, 3, false.B, true.B)
  io.entered := ShiftRegister(fullBeats + (take && !last), 3)
  io.slot := ShiftRegister(RegEnable(slot, take), 2)

  /** The slot of the slow packet that comes in or comes next. */
  private class SlowSlot(begins: Bool) {
    private val ready = RegInit((!config.hasSlow).B)
    private val next = Reg(UInt(config.slotBits.W))
    private val current = RegEnable(next, begins)
    if (config.hasSlow) {
      val free = ~io.slots & config.slowSlots.U
      when(begins) { ready := false.B }
        .elsewhen(!ready && !RegNext(begins, false.B)) {
          ready := free.orR
          next := LowestOne(free)
        }
      assert(!begins || ready, "a packet begins and has no slot")
    }

    /** A packet may begin in the next cycle. */
    def stays: Bool = ready && !begins
    def of(inside: Bool): UInt = Mux(inside, current, next)
  }
}
