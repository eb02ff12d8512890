// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.queue.RingQueue
import sallyport.crypto.cipher.{AesPipe, Sm4Pipe}
import sallyport.crypto.suite.Suite

/**
 * The steps of CBC from red to black, where a block waits for the block before it to leave the
 * cipher: each step from another packet, a barrel schedule.
 *
 * A packet's steps are `head`, `iv`, and its blocks of text. After a step that goes through a
 * cipher a packet is woken so that its next step enters the cipher in the very cycle in which the
 * block before comes out; n packets alone in the lane with a cipher of n cycles fill it. Woken
 * packets wait in queues of slot numbers, those of the ciphers in front of those that start.
 *
 * A step a cycle. `clear` forgets every packet.
 */
class ChainSequence(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val start = Flipped(Valid(new LaneStart(config)))

    /** Of the packet in `start`. */
    val textBytes = Input(UInt(LaneOp.lengthBits.W))
    val clear = Input(Bool())
    val op = Decoupled(new LaneOp(config))

    /** The step that goes on its way now: one that was in `op`, in this cycle or before. */
    val issued = Flipped(Valid(new LaneOp(config)))
  })

  private class Plan extends Bundle {
    val suite = UInt(Suite.laneBits.W)
    val blocks = UInt(LaneOp.blockBits.W)
  }

  /** What a packet's next step is; a packet that starts has none yet. */
  private class Progress extends Bundle {
    val text = Bool()
    val index = UInt(LaneOp.blockBits.W)
    val left = UInt(LaneOp.blockBits.W)
  }

  private val slot = UInt(config.slotBits.W)
  private val plans = Mem(config.slots, new Plan)
  private val progress = Mem(config.slots, new Progress)
  when(io.start.valid) {
    val plan = Wire(new Plan)
    plan.suite := io.start.bits.suite
    plan.blocks := io.textBytes >> 4
    plans(io.start.bits.slot) := plan
  }

  // Packets that may go on, the most urgent first.
  private def queue(valid: Bool, bits: UInt): DecoupledIO[UInt] = RingQueue(valid, bits, config.slots, io.clear)

  /**
   * Packets whose block comes out of a cipher of so many cycles. A register first: the choice of
   * the packet comes late in the cycle.
   */
  private val issued = RegNext(io.issued.bits)
  private val issuedValid = RegNext(io.issued.valid && !io.clear, false.B)
  private val throughCipher = issuedValid && !issued.step.head && !issued.last
  private def woken(latency: Int, which: Bool): DecoupledIO[UInt] = {
    val after = latency - ChainSequence.turn - 1
    queue(ShiftRegister(throughCipher && which, after, false.B, true.B), ShiftRegister(issued.slot, after))
  }
  private val aes = Suite.isAes(issued.suite)
  private val sources =
    Option.when(config.hasAes)(woken(AesPipe.latency, aes)).toSeq ++
      Option.when(config.hasSm4)(woken(Sm4Pipe.latency, !aes)) :+
      queue(io.issued.valid && io.issued.bits.step.head, io.issued.bits.slot) :+
      queue(io.start.valid, io.start.bits.slot)

  // Whose turn it is; a cycle later, what its step is.
  private val valid = RegInit(false.B)
  private val op = Reg(new LaneOp(config))
  private val free = !valid || io.op.ready
  private val picked = RegInit(false.B)
  private val chosen = Reg(slot)
  private val starts = Reg(Bool())
  private val picks = !picked || free
  for ((source, i) <- sources.zipWithIndex)
    source.ready := picks && !sources.take(i).map(_.valid).foldLeft(false.B)(_ || _)
  when(picks) {
    picked := sources.map(_.valid).reduce(_ || _)
    chosen := PriorityMux(sources.map(_.valid), sources.map(_.bits))
    starts := !sources.init.map(_.valid).reduce(_ || _)
  }

  private val plan = plans(chosen)
  private val now = progress(chosen)
  private val next = Wire(new Progress)
  next.text := !starts
  next.index := Mux(starts || !now.text, 0.U, now.index + 1.U)
  next.left := Mux(starts || !now.text, plan.blocks, now.left - 1.U)
  when(free) { valid := picked }
  when(io.clear) {
    picked := false.B
    valid := false.B
  }
  when(free && picked) {
    progress(chosen) := next
    op := 0.U.asTypeOf(op)
    op.slot := chosen
    op.suite := plan.suite
    op.step.head := starts
    op.step.iv := !starts && !now.text
    op.step.text := !starts && now.text
    op.index := Mux(starts || !now.text, 0.U, now.index)
    op.last := !starts && now.text && now.left === 1.U
  }
  io.op.valid := valid
  io.op.bits := op
}

private object ChainSequence {

  /** Cycles from a packet's entry into a queue to its step, the step's own included. */
  val turn = 3
}
