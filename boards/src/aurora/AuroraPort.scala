// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.aurora

import chisel3._
import chisel3.util._

/**
 * The shell's side of one Aurora 64B/66B core of four lanes (boards/ip/aurora_64b66b.yaml),
 * streaming, bytes in AXI order.
 *
 * All but `resetPb` and `pmaInit` is in the domain of `clock`, 402.83203125 MHz, which stops while
 * the core is in reset. `tx` obeys the rule of AXI4-Stream; the core takes no beat in one clock of
 * 33 and in up to 8 of 4992. Nothing holds `rx` back.
 */
class AuroraPort extends Bundle {

  /** user_clk_out. */
  val clock = Input(Clock())
  val channelUp = Input(Bool())
  val hardError = Input(Bool())
  val softError = Input(Bool())
  val tx = Decoupled(UInt(AuroraPort.beatBits.W))
  val rx = Flipped(Valid(UInt(AuroraPort.beatBits.W)))

  /** Reset of the core and of its transceivers, in the initial clock of 50 MHz. */
  val resetPb = Output(Bool())
  val pmaInit = Output(Bool())
}

object AuroraPort {
  val beatBits: Int = 256
}
