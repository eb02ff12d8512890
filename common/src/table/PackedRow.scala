// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{Row, RowField}

/**
 * A row as a memory keeps it: without its gaps, which answer as 0.
 *
 * @param rowBits of the row with its gaps
 * @param gaps in ascending order, apart
 */
case class PackedRow(rowBits: Int, gaps: Seq[RowField]) {
  require(gaps.sliding(2).forall(g => g.size < 2 || g.head.msb < g.last.lsb), "gaps of a row in ascending order, apart")
  private val kept = gaps.map(_.msb + 1).prepended(0).zip(gaps.map(_.lsb).appended(rowBits)).collect {
    case (start, end) if end > start => RowField(start, end - start)
  }
  val bits: Int = kept.map(_.width).sum
  def pack(row: UInt): UInt = Cat(kept.map(_(row)).reverse)

  /** The same in Scala. */
  def pack(row: BigInt): BigInt = kept.zip(kept.scanLeft(0)(_ + _.width)).map { case (part, at) =>
    (row >> part.lsb & ((BigInt(1) << part.width) - 1)) << at
  }.reduce(_ | _)
  def unpack(word: UInt): UInt =
    kept.zip(kept.scanLeft(0)(_ + _.width)).map { case (part, at) =>
      (word(at + part.width - 1, at) << part.lsb).pad(rowBits)
    }.reduce(_ | _)
}

object PackedRow {
  def apply(row: Row): PackedRow = PackedRow(row.bits, row.gaps)
}
