// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.queue.RingQueue

/**
 * The unit of work of a hash pipe: 64 bytes of a packet's message, or the outer hash of its HMAC.
 */
class HashUnit(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)

  /**
   * Of the beat among those of the packet; the last ones may lie beyond, with padding or
   * lengths alone.
   */
  val index = UInt(HashEngine.unitBits.W)

  /** The outer hash; `index` does not count then. */
  val outer = Bool()
}

/**
 * Which packet's unit is next. A packet is in one of three queues of slots that are ready, or in
 * the pipes, or waits for more of its message; no slot is ever searched for.
 *
 * In a cycle with `turn` the head of a queue is taken, so that the oldest packets end first: chains
 * that have come back, then those that waited, then new ones. `pick` follows a cycle later.
 * `returned` brings a packet back with the unit that it needs next.
 *
 * No wake-up is lost: whether the packet's beat is there is asked once, in the cycle of `returned`,
 * which sees a `grown` of the same cycle; and a `grown` of any later cycle finds the packet marked
 * as waiting.
 */
class HashSchedule(slots: Int) extends Module {
  private val slotBits = log2Ceil(slots)
  val io = IO(new Bundle {
    val start = Flipped(Valid(new Bundle { val slot = UInt(slotBits.W); val complete = Bool() }))
    val grown = Flipped(Valid(new HashGrown(slots)))
    val returned = Flipped(Valid(new HashUnit(slots)))
    val turn = Input(Bool())

    /** Forgets every packet. */
    val clear = Input(Bool())
    val pick = Valid(new HashUnit(slots))
  })

  /** A packet that is ready: with its first unit, or with the one that `progress` holds. */
  private class Ready extends Bundle { val slot = UInt(slotBits.W); val first = Bool() }

  private def queue(valid: Bool, slot: UInt, first: Bool): DecoupledIO[Ready] = {
    val ready = Wire(new Ready)
    ready.slot := slot
    ready.first := first
    RingQueue(valid, ready, slots, io.clear)
  }

  private val start = io.start.bits
  private val grown = io.grown.bits
  private val returned = io.returned.bits

  // Packets that wait, packets whose whole message is there, and packets without an announced beat.
  private val waiting = RegInit(0.U(slots.W))
  private val whole = Reg(UInt(slots.W))
  private val fresh = Reg(UInt(slots.W))

  /**
   * Beats announced, counted unless `fresh`. A packet that is not whole has had one for each unit
   * it did.
   */
  private val beats = Mem(slots, UInt(HashEngine.unitBits.W))
  when(io.grown.valid) { beats(grown.slot) := Mux(fresh(grown.slot), 0.U, beats(grown.slot)) + 1.U }

  private val progress = Mem(slots, new HashUnit(slots))
  when(io.returned.valid) { progress(returned.slot) := returned }
  private val growsNow = io.grown.valid && grown.slot === returned.slot
  private val available = growsNow || whole(returned.slot) || beats(returned.slot) =/= returned.index

  private def bit(valid: Bool, slot: UInt): UInt = Mux(valid, UIntToOH(slot, slots), 0.U)
  private val starts = bit(io.start.valid, start.slot)
  private val grows = bit(io.grown.valid, grown.slot)
  private val stops = bit(io.returned.valid && !available, returned.slot)
  waiting := Mux(io.clear, 0.U, (waiting & ~grows) | Mux(start.complete, 0.U, starts) | stops)
  whole := (whole & ~starts) | Mux(start.complete, starts, 0.U) | Mux(grown.last, grows, 0.U)
  fresh := (fresh & ~grows) | starts

  private val queues = Seq(
    queue(io.returned.valid && available, returned.slot, false.B),
    queue(io.grown.valid && waiting(grown.slot), grown.slot, fresh(grown.slot)),
    queue(io.start.valid && start.complete, start.slot, true.B)
  )
  private val earlier = queues.map(_.valid).scanLeft(false.B)(_ || _)
  queues.zip(earlier).foreach { case (queue, taken) => queue.ready := io.turn && !taken }

  private val chosen = RegNext(PriorityMux(queues.map(q => q.valid -> q.bits)))
  io.pick.valid := RegNext(io.turn && earlier.last && !io.clear, false.B)
  io.pick.bits := progress(chosen.slot)
  io.pick.bits.slot := chosen.slot
  when(chosen.first) {
    io.pick.bits.index := 0.U
    io.pick.bits.outer := false.B
  }
}
