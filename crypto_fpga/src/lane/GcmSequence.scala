package sallyport.crypto

import chisel3._
import chisel3.util._

/**
 * The steps of every packet in flight, one a cycle, chosen by the barrel schedule.
 *
 * A packet's steps are its blocks of associated data (one at least: without any, a block of zeros, which leaves
 * GHASH as it is), its blocks of text, and the block of lengths. Steps of one packet are at least two cycles apart
 * and alternate between two GHASH chains, so those of one chain are at least four apart: what [[GhashChains]] asks
 * for.
 *
 * `picked` is the slot of `op`, one cycle earlier. `clear` forgets every packet.
 */
class GcmSequence(slots: Int) extends Module {
  private val slotBits = log2Ceil(slots)
  val io = IO(new Bundle {
    val start = Flipped(Valid(new GcmStart(slots)))
    val clear = Input(Bool())
    val oldest = Input(UInt(slotBits.W))
    val picked = Valid(UInt(slotBits.W))
    val op = Valid(new GcmOp(slots))
  })

  private class Plan extends Bundle {
    val aadBlocks = UInt(GcmEngine.blockBits.W)
    val textBlocks = UInt(GcmEngine.blockBits.W)
    val bytes = UInt(4.W)
  }

  /** What the next step of a slot is, decoded when the step before is taken. */
  private class Progress extends Bundle {
    val step = GcmStep()
    val index = UInt(GcmEngine.blockBits.W)

    /** Blocks of this kind from this one on. */
    val left = UInt(GcmEngine.blockBits.W)
    val chain = UInt(1.W)
    val opens = Bool()
  }

  private def blocks(bytes: UInt): UInt = (bytes +& 15.U) >> 4

  private val plans = Mem(slots, new Plan)
  private val progress = Mem(slots, new Progress)
  private val fresh = RegInit(VecInit.fill(slots)(false.B))
  private val schedule = Module(new BarrelSchedule(slots, 2))

  private val start = io.start.bits
  when(io.start.valid) {
    val plan = Wire(new Plan)
    plan.aadBlocks := Mux(start.aadBytes === 0.U, 1.U, blocks(start.aadBytes))
    plan.textBlocks := blocks(start.textBytes)
    plan.bytes := start.textBytes(3, 0)
    plans(start.slot) := plan
    fresh(start.slot) := true.B
  }

  private val slot = schedule.io.pick.bits
  private val plan = plans(slot)
  private val first = fresh(slot)

  private val begin = Wire(new Progress)
  begin.step := GcmStep.aad
  begin.index := 0.U
  begin.left := plan.aadBlocks
  begin.chain := 0.U
  begin.opens := true.B
  private val now = Mux(first, begin, progress(slot))

  private val next = Wire(new Progress)
  next.step := now.step
  next.index := now.index + 1.U
  next.left := now.left - 1.U
  next.chain := ~now.chain
  next.opens := first
  when(now.left === 1.U) {
    when(now.step === GcmStep.aad) {
      next.step := Mux(plan.textBlocks === 0.U, GcmStep.length, GcmStep.text)
      next.index := 0.U
      next.left := plan.textBlocks
    }.otherwise {
      next.step := GcmStep.length
    }
  }
  when(schedule.io.pick.valid) {
    progress(slot) := next
    fresh(slot) := false.B
  }

  schedule.io.clear := io.clear
  schedule.io.oldest := io.oldest
  schedule.io.set(0).valid := io.start.valid
  schedule.io.set(0).bits := start.slot
  schedule.io.set(1).valid := schedule.io.pick.valid && (first || now.step =/= GcmStep.length)
  schedule.io.set(1).bits := slot

  private val op = Reg(new GcmOp(slots))
  op.slot := slot
  op.step := now.step
  op.index := now.index
  op.first := first
  op.chain := now.chain
  op.opens := now.opens
  op.last := now.step === GcmStep.text && now.left === 1.U
  op.bytes := plan.bytes

  io.picked := schedule.io.pick
  io.op.valid := RegNext(schedule.io.pick.valid && !io.clear, false.B)
  io.op.bits := op
}
