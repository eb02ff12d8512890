// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import ReassemblyConfig._

/** The units of one cell that a fragment fills. */
class CellStep(p: ReassemblyConfig) extends Bundle {
  val cell = UInt(p.cellBits.W)

  /** The datagram has just got this cell: what the map says of it is old. */
  val fresh = Bool()

  /** First and last unit. */
  val from = UInt(log2Ceil(cellUnits).W)
  val to = UInt(log2Ceil(cellUnits).W)
}

/**
 * Which units of each cell are filled: a bit each.
 *
 * A step fills units of a cell; `overlap` rises 4 cycles later if one of them was filled, and stays
 * until `clear`. One step a cycle; steps for one cell are 4 cycles apart or more.
 */
class CellMap(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val step = Flipped(Valid(new CellStep(p)))
    val clear = Input(Bool())
    val overlap = Output(Bool())
  })

  private val memory = SyncReadMem(p.cells, UInt(cellUnits.W))
  private val step1 = RegNext(io.step.bits)
  private val valid1 = RegNext(io.step.valid, false.B)
  private val read = memory.read(step1.cell, valid1)
  private val step2 = RegNext(step1)
  private val valid2 = RegNext(valid1, false.B)
  private val from2 = RegNext(VecInit.tabulate(cellUnits)(i => i.U >= step1.from).asUInt)
  private val to2 = RegNext(VecInit.tabulate(cellUnits)(i => i.U <= step1.to).asUInt)

  private val step3 = RegNext(step2)
  private val valid3 = RegNext(valid2, false.B)
  private val filled3 = RegNext(read)
  private val fills3 = RegNext(from2 & to2)
  private val filled = Mux(step3.fresh, 0.U, filled3)
  when(valid3) { memory.write(step3.cell, filled | fills3) }

  private val overlap = RegInit(false.B)
  when(io.clear) { overlap := false.B }.elsewhen(valid3 && !step3.fresh && (filled3 & fills3).orR) { overlap := true.B }
  io.overlap := overlap
}
