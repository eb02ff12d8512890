// SPDX-License-Identifier: Apache-2.0
package sallyport.common.clock

import chisel3._

/**
 * A clock-gate cell: `out` is `clock` in the cycles after `enable` was high at the rising edge's
 * setup, low otherwise.
 *
 * In simulation it is a latch and an AND, so that an idle pipe costs no evaluation. Under
 * `SYNTHESIS` the clock passes through, because fabric does not gate a 300 MHz clock tree. So
 * registers behind it need their own enables where function depends on them.
 */
class ClockGate extends ExtModule {
  override def desiredName = "SallyportClockGate"

  val clock = IO(Input(Clock()))
  val enable = IO(Input(Bool()))
  val out = IO(Output(Clock()))

  setInline(
    "SallyportClockGate.sv",
    """module SallyportClockGate(
      |  input  clock,
      |  input  enable,
      |  output out
      |);
      |`ifdef SYNTHESIS
      |  assign out = clock;
      |`else
      |  reg held;
      |  always_latch if (!clock) held = enable;
      |  assign out = clock & held;
      |`endif
      |endmodule
      |""".stripMargin
  )
}

object ClockGate {

  /**
   * The clock, alive in the cycles in which `enable` is high. Registers that wake it must not be
   * behind it.
   */
  def apply(clock: Clock, enable: Bool): Clock = {
    val gate = Module(new ClockGate)
    gate.clock := clock
    gate.enable := enable
    gate.out
  }
}
