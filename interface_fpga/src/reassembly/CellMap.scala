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

  /** They are the fragment's first and last as well. */
  val begins = Bool()
  val ends = Bool()
}

/** A bit for each unit of a cell. */
class CellUnits extends Bundle {
  val filled = UInt(cellUnits.W)

  /** A fragment begins, or ends, with it. */
  val begins = UInt(cellUnits.W)
  val ends = UInt(cellUnits.W)
}

/**
 * Which units of each cell are filled, and where their fragments begin and end.
 *
 * A step fills units of a cell. 4 cycles later, `overlap` rises if one of them was filled, and
 * `differs` if they are not what one fragment with the same first and last unit filled; both stay
 * until `clear`. One step a cycle; steps for one cell are 4 cycles apart or more.
 */
class CellMap(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val step = Flipped(Valid(new CellStep(p)))
    val clear = Input(Bool())
    val overlap = Output(Bool())
    val differs = Output(Bool())
  })

  private val memory = SyncReadMem(p.cells, new CellUnits)
  private val step1 = RegNext(io.step.bits)
  private val valid1 = RegNext(io.step.valid, false.B)
  private val read = memory.read(step1.cell, valid1)
  private val step2 = RegNext(step1)
  private val valid2 = RegNext(valid1, false.B)
  private val from2 = RegNext(VecInit.tabulate(cellUnits)(i => i.U >= step1.from).asUInt)
  private val to2 = RegNext(VecInit.tabulate(cellUnits)(i => i.U <= step1.to).asUInt)
  private val begins2 = RegNext(UIntToOH(step1.from, cellUnits) & Fill(cellUnits, step1.begins))
  private val ends2 = RegNext(UIntToOH(step1.to, cellUnits) & Fill(cellUnits, step1.ends))

  private val step3 = RegNext(step2)
  private val valid3 = RegNext(valid2, false.B)
  private val was3 = RegNext(read)
  private val fills3 = RegNext(from2 & to2)
  private val begins3 = RegNext(begins2)
  private val ends3 = RegNext(ends2)
  private def added(old: UInt, more: UInt): UInt = Mux(step3.fresh, 0.U, old) | more
  private val becomes = Wire(new CellUnits)
  becomes.filled := added(was3.filled, fills3)
  becomes.begins := added(was3.begins, begins3)
  becomes.ends := added(was3.ends, ends3)
  when(valid3) { memory.write(step3.cell, becomes) }

  private val unlike = ~was3.filled | (was3.begins ^ begins3) | (was3.ends ^ ends3)
  private val overlap = RegInit(false.B)
  private val differs = RegInit(false.B)
  when(io.clear) {
    overlap := false.B
    differs := false.B
  }.elsewhen(valid3) {
    when(!step3.fresh && (was3.filled & fills3).orR) { overlap := true.B }
    when(step3.fresh || (unlike & fills3).orR) { differs := true.B }
  }
  io.overlap := overlap
  io.differs := differs
}
