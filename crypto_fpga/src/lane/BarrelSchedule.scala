package sallyport.crypto

import chisel3._
import chisel3.util._

/**
 * The barrel schedule of a lane: which packet's block goes into the cipher next.
 *
 * Each cycle it picks the oldest slot that is ready, counted from `oldest` round the ring of slots, and that slot
 * is not ready again until `set` says that what its next block depends on is met. The schedule knows nothing of
 * modes: a counter mode sets a slot again as soon as its state is updated, a chained mode when the block before
 * has left the cipher.
 *
 * `pick` is a register, one cycle after the readiness it was chosen by. A slot set by whoever sees it in `pick` is
 * picked again two cycles after the pick before: one packet alone gets every other cycle, two packets fill all of
 * them.
 *
 * @param setters
 *   independent sources of readiness
 */
class BarrelSchedule(slots: Int, setters: Int) extends Module {
  require(isPow2(slots) && slots >= 2, s"the ring of slots is a power of two, not $slots")

  private val slotBits = log2Ceil(slots)
  val io = IO(new Bundle {
    val set = Vec(setters, Flipped(Valid(UInt(slotBits.W))))

    /** Nothing is ready any more. */
    val clear = Input(Bool())
    val oldest = Input(UInt(slotBits.W))
    val pick = Valid(UInt(slotBits.W))
  })

  private val ready = RegInit(0.U(slots.W))

  /** Slots from `oldest` to the end of the ring's numbering. Late by a cycle, which costs nothing but a turn. */
  private val upper = RegInit(0.U(slots.W))
  upper := VecInit.tabulate(slots)(i => i.U >= io.oldest).asUInt

  private val first = ready & upper
  private val chosen = Mux(first.orR, PriorityEncoderOH(first), PriorityEncoderOH(ready))
  private val set = io.set.map(s => Mux(s.valid, UIntToOH(s.bits, slots), 0.U)).reduce(_ | _)

  ready := Mux(io.clear, 0.U, (ready & ~chosen) | set)
  io.pick.valid := RegNext(ready.orR && !io.clear, false.B)
  io.pick.bits := RegNext(OHToUInt(chosen))
}
