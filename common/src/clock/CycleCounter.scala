// SPDX-License-Identifier: Apache-2.0
package sallyport.common.clock

import chisel3._

/**
 * Core cycles since reset, as punt headers and events tell them: CYCLES_LO and CYCLES_HI of each
 * chip. A register.
 */
class CycleCounter extends Module {
  val io = IO(new Bundle {
    val value = Output(UInt(64.W))
  })

  // The high half counts in the cycle in which the low one wraps.
  private val low = RegInit(0.U(32.W))
  private val high = RegInit(0.U(32.W))
  private val wraps = RegNext(low === ((1L << 32) - 2).U, false.B)
  low := low + 1.U
  high := high + wraps
  io.value := high ## low
}
