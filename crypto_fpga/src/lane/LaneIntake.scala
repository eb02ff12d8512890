// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.LowestOne
import sallyport.common.stream.{PacketBeat, PacketStream}
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

/** A beat on its way into the buffer, and what its packet is measured by. */
private class LaneEntering(config: LaneConfig) extends Bundle {
  val slot = UInt(config.slotBits.W)
  val row = UInt(config.rowBits.W)
  val data = UInt(PacketStream.dataBits.W)
  val bytes = UInt(log2Ceil(PacketStream.dataBytes + 1).W)
  val last = Bool()
  val error = Bool()
  val fast = Bool()
  val suite = UInt(Suite.laneBits.W)
  val icv = UInt(Suite.icvBits.W)
}

/**
 * The entrance of a lane: gives each packet a slot and room in the buffers, writes it, and
 * measures it.
 *
 * Takes each beat that comes, a beat a cycle, and writes it in the next cycle unless `pause` has
 * the buffer. Beats that wait are in a queue of LUT RAM; `ready` falls in time ([[LaneFarPorts]]).
 * The room is the sender's affair ([[LaneWay]]). Beats are rings: taken in order of arrival, given
 * back in that order by `freed`. So are the slots of fast packets. A slow packet has the first free
 * slot, which is known 3 cycles after the last one has begun.
 *
 * `begin` is in the cycle of a packet's first beat; two cycles after a beat is written it is told
 * on: by `opens` the first one, by `arrived` the last.
 */
class LaneIntake(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new PacketBeat(new LaneJob)))
    val ready = Output(Bool())

    /** Nothing is written in two cycles. */
    val pause = Input(Bool())
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
    val freed = Input(new LaneFreed)

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
  private val take = io.in.valid
  private val last = take && io.in.bits.last
  private val begins = take && !inside
  private val job = io.in.bits.meta
  private val isFast = Suite.is(job.suite)(_.fast)
  private val slowSlot = new SlowSlot(begins && !isFast)
  when(take) { inside := !io.in.bits.last }

  private val rings = Seq(false, true).map { fast =>
    val mine = isFast === fast.B
    val slot = if (fast) {
      val slot = RegInit(config.slotRings.start(fast).U(config.slotBits.W))
      when(last && mine) { slot := config.slotRings.after(slot, 1.U) }
      slot
    } else slowSlot.of(inside)
    val row = RegInit(config.beatRings.start(fast).U(config.rowBits.W))
    when(take && mine) { row := config.beatRings.after(row, Mux(io.in.bits.last, (1 + spare).U, 1.U)) }

    val use = new LaneUse(config, fast)
    use.follow(take && mine, begins, io.in.bits.last, io.freed)
    if (!fast) {
      io.crowded := RegNext(use.usedSlots >= (config.slotRings.places(fast) * 2 / 3).U, false.B)
      io.noSlow := RegNext(use.usedBeats === 0.U, true.B)
      io.nextSlow := RegNext(row, config.beatRings.start(fast).U(config.rowBits.W))
    }
    (slot, row, RegNext(use.usedBeats =/= 0.U, false.B))
  }
  io.begin.valid := begins
  io.begin.bits.slot := Mux(isFast, rings(1)._1, rings(0)._1)
  io.begin.bits.base := Mux(isFast, rings(1)._2, rings(0)._2)

  // Beats wait here while something else has the buffer, which nothing has without slow packets.
  private val entering = Wire(new LaneEntering(config))
  entering.slot := io.begin.bits.slot
  entering.row := io.begin.bits.base
  entering.data := io.in.bits.data
  entering.bytes := io.in.bits.bytes
  entering.last := io.in.bits.last
  entering.error := io.in.bits.error
  entering.fast := isFast
  entering.suite := job.suite
  entering.icv := job.icv
  private val entered = Wire(Valid(new LaneEntering(config)))
  if (config.hasSlow) {
    val waiting = Module(new Queue(new LaneEntering(config), LaneIntake.waiting))
    waiting.io.enq.valid := take
    waiting.io.enq.bits := entering
    assert(waiting.io.enq.ready, "a beat comes and has no place")
    waiting.io.deq.ready := !ShiftRegister(io.pause, 2, false.B, true.B)
    entered.valid := waiting.io.deq.fire
    entered.bits := waiting.io.deq.bits
    io.occupied := rings.map(_._3).reduce(_ || _) || waiting.io.deq.valid
    // Beats of this cycle and the next are not counted yet.
    io.ready := RegNext(waiting.io.count <= (LaneIntake.waiting - LaneFarPorts.late - 2).U, true.B)
  } else {
    entered.valid := RegNext(take, false.B)
    entered.bits := RegEnable(entering, take)
    io.occupied := rings.map(_._3).reduce(_ || _) || entered.valid
    io.ready := true.B
  }
  io.write.valid := entered.valid
  io.write.bits.row := entered.bits.row
  io.write.bits.data := entered.bits.data
  io.write.bits.record := false.B

  // Measure: all bytes, then those that are not text, then text; each a cycle. By then the last
  // beat is in the buffer.
  private val beat = entered.bits
  private val ends = entered.valid && beat.last
  private val open = RegInit(false.B)
  private val fullBeats = RegInit(0.U(LaneFrame.beatBits.W))
  when(entered.valid) {
    open := !beat.last
    fullBeats := Mux(beat.last, 0.U, fullBeats + 1.U)
  }
  private val overhead = RegEnable(Suite.choose(beat.suite)(_.headBytes) +& Suite.icvLength(beat.suite, beat.icv), ends)
  private val padTo16 = RegEnable(Suite.is(beat.suite)(_.padTo == 16), ends)
  private val bytes = RegEnable((fullBeats << 6) + beat.bytes, ends)

  private val frame = Reg(new LaneFrame)
  frame.beats := RegEnable(fullBeats + (1 + spare).U, ends)
  frame.payload := bytes
  private val error = RegEnable(beat.error, ends)
  private val malformed = Reg(Bool())
  if (config.encrypt) {
    val padded4 = Cat((bytes + 5.U) >> 2, 0.U(2.W))
    val padded16 = Cat((bytes + 17.U) >> 4, 0.U(4.W))
    frame.text := Mux(padTo16, padded16, padded4)
    malformed := error
  } else {
    val text = bytes -% overhead
    frame.text := text
    malformed := error || bytes < overhead +& Mux(padTo16, 16.U, 4.U) || text(1, 0) =/= 0.U ||
      (padTo16 && text(3, 2) =/= 0.U)
  }
  io.arrived.valid := ShiftRegister(ends, 2, false.B, true.B)
  io.arrived.bits.frame := frame
  io.arrived.bits.malformed := malformed
  io.arrived.bits.opened := ShiftRegister(beat.fast && open, 2)
  io.opens := ShiftRegister(entered.valid && !open && beat.fast && !beat.last, 2, false.B, true.B)
  io.entered := ShiftRegister(fullBeats + (entered.valid && !beat.last), 2)
  io.slot := RegNext(RegEnable(beat.slot, entered.valid))

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

    def of(inside: Bool): UInt = Mux(inside, current, next)
  }
}

private object LaneIntake {

  /** Beats that may wait to be written: as many as LUT RAM of one depth holds. */
  val waiting: Int = 32
}
