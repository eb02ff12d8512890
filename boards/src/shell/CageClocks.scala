// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.shell

import chisel3._

/**
 * Starts the clock chips beside the QSFP cages: a chip whose rate is set by pins takes it over at
 * its reset.
 *
 * `clockReset` is high for 2^`bits` cycles of this clock after reset, and `settled` rises as many
 * later. With the 10 bits of a board that is 20 us each at 50 MHz, as long as corundum's designs
 * for these cards wait.
 */
class CageClocks(bits: Int = 10) extends Module {
  val io = IO(new Bundle {
    val clockReset = Output(Bool())
    val settled = Output(Bool())
  })

  private val count = RegInit(0.U((bits + 1).W))
  private val settled = RegInit(false.B)
  when(count.andR) { settled := true.B }.otherwise { count := count + 1.U }
  io.clockReset := RegNext(!count(bits) && !settled, true.B)
  io.settled := settled
}
