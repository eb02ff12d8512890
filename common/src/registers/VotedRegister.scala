// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import chisel3.util._

/**
 * A register of `bits` bits that one flipped bit (single event upset) does not change. Three copies
 * vote bit by bit, and each cycle writes the result of the vote back. A flip of one copy of a bit
 * is repaired in the next cycle; a bit whose copies flip twice in one cycle is lost.
 *
 * A synthesis tool merges registers that are always equal. So one copy holds the inverse, and one
 * follows a cycle later. In the one cycle after a write, a flip may undo the write of its bit.
 *
 * `value` shows a write in the next cycle. `repairs` is high while a copy differs from the others.
 *
 * @param reset value after reset
 */
class VotedRegister(bits: Int, reset: BigInt) extends Module {
  val io = IO(new Bundle {
    val write = Flipped(Valid(UInt(bits.W)))
    val value = Output(UInt(bits.W))
    val repairs = Output(Bool())
  })

  /** Copy 0, 1 or 2; tests flip its bits. */
  protected def copy(number: Int, next: UInt, reset: UInt): UInt = RegNext(next, reset)

  private val start = reset.U(bits.W)
  private val voted = Wire(UInt(bits.W))
  private val next = Mux(io.write.valid, io.write.bits, voted)
  private val plain = copy(0, next, start)
  private val inverted = copy(1, (~next).asUInt, (~start).asUInt)
  private val inverse = (~inverted).asUInt
  private val later = copy(2, voted, start)
  private val written = RegNext(io.write.valid, false.B)
  voted := (plain & inverse) | (plain & later) | (inverse & later)
  io.value := voted
  io.repairs := plain =/= inverse || (!written && plain =/= later)
}
