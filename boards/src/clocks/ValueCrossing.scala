// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.clocks

import chisel3._
import chisel3.util.{RegEnable, addAttribute}

/**
 * A value of one clock as another clock sees it, however it moves: `out` is always a value that
 * `in` had, and follows it within about ten cycles.
 *
 * The value is held while the other side takes it: a toggle goes over, the other side takes the
 * held value and sends the toggle back. Values that `in` has meanwhile are passed over. Both sides
 * are reset together ([[CrossingReset]]), and `out` is then 0. Constraint:
 * boards/constraints/ValueCrossing.tcl.
 */
class ValueCrossing(width: Int) extends RawModule {
  override def desiredName = "ValueCrossing"

  val from = IO(Input(new ClockSide))
  val to = IO(Input(new ClockSide))
  val in = IO(Input(UInt(width.W)))
  val out = IO(Output(UInt(width.W)))

  private val taken = Wire(Bool())
  private val offer = Wire(Bool())
  private val held = Wire(UInt(width.W))

  withClockAndReset(from.clock, from.reset) {
    val toggle = RegInit(false.B)
    val value = RegInit(0.U(width.W))
    when(BitSynchronizer(taken) === toggle) {
      toggle := !toggle
      value := in
    }
    offer := toggle
    held := value
  }

  withClockAndReset(to.clock, to.reset) {
    val answer = RegInit(false.B)
    val offered = BitSynchronizer(offer)
    when(offered =/= answer) { answer := offered }
    // Enabled two cycles or more after the value was last changed (CDC-15 of UG906).
    val seen = RegEnable(held, 0.U(width.W), offered =/= answer)
    addAttribute(seen, "ASYNC_REG = \"TRUE\"")
    taken := answer
    out := seen
  }
}

object ValueCrossing {

  /** `in` of `from` as `to` sees it. */
  def apply(from: ClockSide, to: ClockSide, in: UInt): UInt = {
    val crossing = Module(new ValueCrossing(in.getWidth))
    crossing.from := from
    crossing.to := to
    crossing.in := in
    crossing.out
  }
}
