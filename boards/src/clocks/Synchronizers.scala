// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.clocks

import chisel3._
import chisel3.util.addAttribute

/**
 * A level of another clock, or of a pin, as a register of this clock.
 *
 * `in` comes from a register or a pin, not through logic, and stays for longer than a period of
 * this clock, or may be missed. Latency: 2 to 3 cycles of this clock. The first register may be
 * metastable for a cycle. Constraint: boards/constraints/BitSynchronizer.tcl.
 *
 * Neither register has a reset, so `out` is `in` during a reset, too. Vivado counts as stages of
 * one synchroniser only registers with the same controls (UG906), and a reset of the first could
 * become logic before it.
 */
class BitSynchronizer extends Module {
  override def desiredName = "BitSynchronizer"

  val io = IO(new Bundle {
    val in = Input(Bool())
    val out = Output(Bool())
  })

  private val settling = RegNext(io.in)
  private val settled = RegNext(settling)
  for (register <- Seq(settling, settled)) addAttribute(register, "ASYNC_REG = \"TRUE\"")
  io.out := settled
}

object BitSynchronizer {

  /** `in` in the clock of here. */
  def apply(in: Bool): Bool = {
    val synchronizer = Module(new BitSynchronizer)
    synchronizer.io.in := in
    synchronizer.io.out
  }
}

/**
 * A reset for the logic of one clock: rises with `in` at once, even while the clock stands still,
 * and falls with the clock, two to three cycles after `in`. `in` may be any clock's, but must not
 * have spikes: a register's or a pin's. Constraint: boards/constraints/ResetSynchronizer.tcl.
 */
class ResetSynchronizer extends RawModule {
  override def desiredName = "ResetSynchronizer"

  val clock = IO(Input(Clock()))
  val in = IO(Input(AsyncReset()))
  val out = IO(Output(Bool()))

  withClockAndReset(clock, in) {
    val settling = RegNext(false.B, true.B)
    val settled = RegNext(settling, true.B)
    for (register <- Seq(settling, settled)) addAttribute(register, "ASYNC_REG = \"TRUE\"")
    out := settled
  }
}

object ResetSynchronizer {

  /** The reset of `clock`'s logic while `in` is high. */
  def apply(clock: Clock, in: Bool): Bool = {
    val synchronizer = Module(new ResetSynchronizer)
    synchronizer.clock := clock
    synchronizer.in := in.asAsyncReset
    synchronizer.out
  }
}
