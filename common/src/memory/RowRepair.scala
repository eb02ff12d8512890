// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._
import chisel3.util.ShiftRegister

/**
 * Repairs rows of a wide [[Secded]] code as they pass, one a cycle, in up to 3 LUT levels a cycle.
 *
 * A row and its verdict leave exactly `RowRepair.latency` cycles after their word. Without `keep`
 * zeros leave in the row's place. Words of zeros leave zeros in every register, so a key is gone
 * `latency` cycles after it.
 *
 * @param early
 *   bits of a row that others use before it is repaired: one of them wrong is beyond repair
 */
class RowRepair(code: Secded, early: BigInt = 0) extends Module {
  val io = IO(new Bundle {
    val word = Input(UInt(code.bits.W))

    /** Of the word of a cycle ago. */
    val keep = Input(Bool())
    val row = Output(UInt(code.dataBits.W))

    /** One bit was wrong, and is right in `row`. */
    val repaired = Output(Bool())

    /** `row` is wrong, or was when others used it. */
    val spoiled = Output(Bool())
  })

  private def any(bits: UInt): UInt =
    VecInit((0 until bits.getWidth by 36).map(lsb => bits((lsb + 35).min(bits.getWidth - 1), lsb).orR)).asUInt

  // Cycle 1: parts of each sum. Cycle 2: the syndrome. Cycle 3: the wrong bit. Cycle 4: the row
  // without it. Cycle 5: the verdict.
  private val parts1 = code.parts(io.word).map(RegNext(_, 0.U))
  private val row1 = RegNext(io.word(code.dataBits - 1, 0), 0.U)
  private val kept1 = Mux(io.keep, row1, 0.U)
  private val syndrome2 = RegNext(VecInit(parts1.map(_.xorR)).asUInt, 0.U)
  private val keep2 = RegNext(io.keep, false.B)
  private val wrong2 = syndrome2.orR
  private val matches3 = RegInit(0.U(code.bits.W))
  matches3 := Mux(wrong2, code.matches(syndrome2), 0.U)
  private val keep3 = RegNext(keep2, false.B)
  private val row3 = ShiftRegister(kept1, 2, 0.U, true.B)
  private val row4 = RegNext(row3 ^ Mux(keep3, matches3(code.dataBits - 1, 0), 0.U), 0.U)
  private val wrong4 = ShiftRegister(wrong2, 2, false.B, true.B)
  private val found4 = RegNext(any(matches3), 0.U)
  private val early4 = RegNext(any(matches3 & early.U(code.bits.W)), 0.U)
  private val repairs4 = found4.orR && !early4.orR

  io.row := RegNext(row4, 0.U)
  io.repaired := RegNext(wrong4 && repairs4, false.B)
  io.spoiled := RegNext(wrong4 && !repairs4, false.B)
}

object RowRepair {

  /** Cycles from a word to its row. */
  val latency: Int = 5
}
