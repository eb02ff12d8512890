// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.shell

import chisel3._
import sallyport.boards.clocks.BitSynchronizer

/**
 * A pin as a level that has lasted: `out` is `in` once that has been the same for 2^`bits` cycles
 * of this clock, `initial` until then.
 *
 * For switches and wires that pick up spikes. `in` is the pin itself.
 */
class Debouncer(bits: Int, initial: Boolean = false) extends Module {
  val io = IO(new Bundle {
    val in = Input(Bool())
    val out = Output(Bool())
  })

  private val level = BitSynchronizer(io.in)
  private val out = RegInit(initial.B)
  private val lasted = RegInit(0.U(bits.W))
  when(level === out) { lasted := 0.U }.otherwise {
    lasted := lasted + 1.U
    when(lasted.andR) { out := level }
  }
  io.out := out
}
