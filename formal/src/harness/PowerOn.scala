// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.harness

import chisel3._

/** The one reset of a run: high in its first cycle, and never again. */
class PowerOn extends ExtModule {
  override def desiredName = "SallyportPowerOn"

  val clock = IO(Input(Clock()))
  val reset = IO(Output(Bool()))

  setInline(
    "SallyportPowerOn.sv",
    """module SallyportPowerOn(input clock, output reg reset);
      |  initial reset = 1'b1;
      |  always @(posedge clock) reset <= 1'b0;
      |endmodule
      |""".stripMargin
  )
}
