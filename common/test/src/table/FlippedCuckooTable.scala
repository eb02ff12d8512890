// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util.experimental.BoringUtils

/** A [[CuckooTable]] whose memories answer with bits flipped, in every row. */
class FlippedCuckooTable(p: CuckooTableParams) extends Module {
  val io = IO(new TableIO(p.keyBits, p.rowBits))
  val short = IO(Input(Bool()))
  val upset = IO(Output(Bool()))
  val rowUpset = IO(Output(Bool()))
  val flips = IO(FlippedCuckooTable.flips(p.rowBits))

  private val table = Module(FlippedCuckooTable.table(flips)(p))
  io <> table.io
  table.short := short
  upset := table.upset
  rowUpset := table.rowUpset
}

object FlippedCuckooTable {

  /** Marks, for each way, the bits that flip; the parity bit is above the row. */
  def flips(rowBits: Int): Vec[UInt] = Input(Vec(CuckooHash.ways, UInt((rowBits + 1).W)))

  /** A table inside the module that has `flips`. */
  def table(flips: Vec[UInt])(p: CuckooTableParams): CuckooTable = new CuckooTable(p) {
    override protected def answered(way: Int, word: UInt): UInt = word ^ BoringUtils.bore(flips).apply(way)
  }
}
