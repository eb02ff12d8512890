// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.Row
import sallyport.common.table.{PackedRow, RowAccess, TableAccess, TablePort}

/** Software's side of one level's memory. */
class LevelPort(rows: Int, bits: Int) extends Bundle {

  /** A look-up takes a row in this cycle, so no access comes. */
  val looked = Input(Bool())
  val access = Valid(new RowAccess(log2Ceil(rows), bits))

  /** [[LevelMemory.latency]] cycles after a read. */
  val data = Input(UInt(bits.W))
}

/**
 * Software's access to the rows of all levels as one table: row n of level l has the index
 * 2^[[PrefixNode.rowBits]] l + n. A row is kept without its gaps, and has a bit of even parity
 * above it.
 *
 * After reset it writes zeros to all rows, and raises `ready`. An access waits for a cycle in which
 * no look-up takes a row of its level.
 *
 * @param rows of the levels, the first one first
 */
class LevelAccess(rows: Seq[Int], row: Row) extends Module {
  private val packing = PackedRow(row)
  private val wordBits = packing.bits + 1
  val io = IO(new Bundle {
    val table = Flipped(new TablePort)
    val levels = MixedVec(rows.map(new LevelPort(_, wordBits)))
    val ready = Output(Bool())
  })

  private val readLatency = LevelMemory.latency + 1
  private def level(index: UInt): UInt = index(index.getWidth - 1, PrefixNode.rowBits)
  private def node(index: UInt): UInt = index(PrefixNode.rowBits - 1, 0)
  private val access = Module(
    new TableAccess(
      rows.length << PrefixNode.rowBits,
      row.bits,
      rows.max,
      writeOnly = false,
      readLatency,
      exists = index =>
        VecInit(rows.zipWithIndex.map { case (rows, n) => level(index) === n.U && node(index) < rows.U }).asUInt.orR
    )
  )
  access.io.table <> io.table
  access.io.clear := false.B
  io.ready := access.io.ready

  private val software = access.io.memory
  private val clearing = access.io.clearing
  private val chosen = RegNext(VecInit(rows.indices.map(n => level(access.io.index) === n.U)))
  private val packed = packing.pack(software.bits.row)
  private val parity = RegNext(packed.xorR)

  // Two cycles for the level's number and the row's parity.
  private val settled = ShiftRegister(software.valid && !clearing, 2, false.B, true.B)
  private val looked = Mux1H(chosen, io.levels.map(_.looked))
  software.ready := clearing || settled && !looked
  for ((level, n) <- io.levels.zipWithIndex) {
    level.access.valid := clearing || software.fire && chosen(n)
    level.access.bits.write := software.bits.write
    level.access.bits.index := software.bits.index(level.access.bits.index.getWidth - 1, 0)
    level.access.bits.row := Mux(clearing, 0.U, parity ## packed)
  }

  // A register of its own for the many bits of a row, so that an access is not late for them.
  private val answers = RegNext(chosen)
  access.io.data := packing.unpack(RegNext(Mux1H(answers, io.levels.map(_.data(packing.bits - 1, 0)))))
}
