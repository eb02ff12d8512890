// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.clocks

import chisel3._
import chisel3.util.addAttribute

/** One clock's side of a module that crosses clocks, and its reset, which is synchronous to it. */
class ClockSide extends Bundle {
  val clock = Clock()
  val reset = Bool()
}

/**
 * A counter of one clock as another clock sees it: `out` is `in` as it was a few cycles ago, and no
 * value is ever seen that `in` did not have.
 *
 * `in` is a register that moves by at most one a cycle, modulo its range. As a Gray code one bit
 * changes at a time, so a register of the other clock that samples a change takes the value before
 * or after it. Latency: one cycle of `from`, then 3 to 4 of `to`. Both sides are reset together
 * ([[CrossingReset]]); `in` is then 0, as is `out`. Constraint:
 * boards/constraints/GrayCrossing.tcl.
 */
class GrayCrossing(width: Int) extends RawModule {
  override def desiredName = "GrayCrossing"

  val from = IO(Input(new ClockSide))
  val to = IO(Input(new ClockSide))
  val in = IO(Input(UInt(width.W)))
  val out = IO(Output(UInt(width.W)))

  private val gray = withClockAndReset(from.clock, from.reset)(RegNext(in ^ (in >> 1), 0.U(width.W)))
  withClockAndReset(to.clock, to.reset) {
    // Alike, without reset: UG906 counts registers with the same controls as stages.
    val settling = RegNext(gray)
    val settled = RegNext(settling)
    for (register <- Seq(settling, settled)) addAttribute(register, "ASYNC_REG = \"TRUE\"")
    out := RegNext(VecInit.tabulate(width)(bit => (settled >> bit).asUInt.xorR).asUInt, 0.U(width.W))
  }
}

object GrayCrossing {

  /** `in` of `from` as `to` sees it. */
  def apply(from: ClockSide, to: ClockSide, in: UInt): UInt = {
    val crossing = Module(new GrayCrossing(in.getWidth))
    crossing.from := from
    crossing.to := to
    crossing.in := in
    crossing.out
  }
}
