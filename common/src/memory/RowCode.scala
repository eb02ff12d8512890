// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._

/**
 * Check bits above the bits of a row. A row of zeros has zeros for them, so a cleared memory needs
 * none.
 */
trait RowCode {
  def dataBits: Int
  def checkBits: Int
  def bits: Int = dataBits + checkBits

  /**
   * The bits that each check bit sums up, as sums of parts. Of the bits of a row their sum is the
   * check bit; of a whole word it is 0 unless bits are wrong.
   */
  def parts(bits: UInt): Seq[UInt]
}

/**
 * Bits of even parity: bit n of a word is in group n modulo `checkBits`. They tell that one bit is
 * wrong, and that bits of two groups are, as two side by side. Two wrong bits of a group are
 * not seen.
 *
 * `parts` takes 2 LUT levels, and so does the sum of the parts, up to 432 bits a group.
 */
case class RowParity(dataBits: Int, checkBits: Int) extends RowCode {
  def parts(bits: UInt): Seq[UInt] = Seq.tabulate(checkBits) { check =>
    // Check bits stand above the row, each in its own group.
    val ofGroup = (0 until bits.getWidth).filter(n => (if (n < dataBits) n else n - dataBits) % checkBits == check)
    VecInit(ofGroup.grouped(36).map(piece => VecInit(piece.map(bits(_))).asUInt.xorR).toSeq).asUInt
  }
}
