// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._
import chisel3.util.experimental.BoringUtils
import sallyport.common.registers.map.RuleRow

/** Bits of a [[TernaryTable]] that are wrong. */
class TernaryFlips(p: TernaryTableParams) extends Bundle {

  /**
   * With `plant`, the bits of `bits` flip in a group of rows of a chunk's word, until the table
   * writes that group of the word. They take the place of those planted before.
   */
  val plant = Bool()
  val chunk = UInt(log2Ceil(RuleMatch.chunks(p)).W)
  val address = UInt(RuleMatch.chunkBits.W)
  val group = UInt(log2Ceil(p.rows / RuleMatch.groupRows).W)
  val bits = UInt((RuleMatch.groupRows + 1).W)

  /** Rows whose bit in the register of valid rows flips in this cycle. */
  val valid = UInt(p.rows.W)

  /** Bits of each copy of a row, and of each result, that are wrong when it is read. */
  val copy = UInt((p.rowBits + 1).W)
  val result = UInt((p.maskLsb - p.keyBits + 1).W)
}

/** A [[TernaryTable]] whose memories answer with bits flipped. */
class FlippedTernaryTable(p: TernaryTableParams) extends Module {
  val io = IO(new TableIO(p.keyBits, p.maskLsb))
  val upset = IO(Output(Bool()))
  val rowUpset = IO(Output(Bool()))
  val flips = IO(Input(new TernaryFlips(p)))

  private def matcher(p: TernaryTableParams): RuleMatch = new RuleMatch(p) {
    override protected def answered(chunk: Int, word: Vec[UInt]): Vec[UInt] = {
      val flips = BoringUtils.bore(FlippedTernaryTable.this.flips)
      val column = this.io.column
      // Bits flip while the table's clock stands still, too.
      val planted = withClock(BoringUtils.bore(FlippedTernaryTable.this.clock)) {
        val planted = RegInit(0.U.asTypeOf(flips))
        when(flips.plant && flips.chunk === chunk.U) { planted := flips }.elsewhen(
          flips.plant || column.fire && column.bits.address === planted.address && column.bits.group === planted.group
        ) { planted.bits := 0.U }
        planted
      }
      val hit = RegNext(this.asked(chunk) === planted.address)
      VecInit(word.zipWithIndex.map { case (bits, group) =>
        bits ^ Mux(hit && planted.group === group.U, planted.bits, 0.U)
      })
    }
  }
  private def copies(p: TernaryTableParams): RuleWriter = new RuleWriter(p) {
    override protected def answered(word: UInt): UInt = word ^ BoringUtils.bore(FlippedTernaryTable.this.flips).copy
    override protected def validFlips: UInt = BoringUtils.bore(FlippedTernaryTable.this.flips).valid
  }
  private val table = Module(new TernaryTable(p, matcher, copies) {
    override protected def answered(word: UInt): UInt = word ^ BoringUtils.bore(FlippedTernaryTable.this.flips).result
  })
  io <> table.io
  upset := table.upset
  rowUpset := table.rowUpset
}

object FlippedTernaryTable {

  /** Bits of a result of an SPD rule, with its parity. */
  val resultBits: Int = RuleRow.srcMask.lsb - RuleRow.network.msb

  /** A table whose results have `flips`, inside the module that has these. */
  def results(flips: UInt)(p: TernaryTableParams): TernaryTable = new TernaryTable(p) {
    override protected def answered(word: UInt): UInt = word ^ BoringUtils.bore(flips)
  }
}
