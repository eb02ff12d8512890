// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._

/**
 * `in`, `cycles` later, without a reset: a memory that is written and read in turn, where a chain
 * of registers would move every bit in every cycle.
 */
object RingDelay {
  def apply[T <: Data](in: T, cycles: Int): T =
    if (cycles < 4) ShiftRegister(in, cycles)
    else {
      // The read has a register, so this cycle reads the entry written cycles - 1 ago.
      val places = cycles - 1
      val at = RegInit(0.U(log2Ceil(places).W))
      at := Mux(at === (places - 1).U, 0.U, at + 1.U)
      val ring = Mem(places, chiselTypeOf(in))
      ring(at) := in
      RegNext(ring(at))
    }
}
