// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tfc

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.DummyRow
import sallyport.common.table.{DirectTable, TablePort}

/** A dummy packet to be made (RFC 4303 2.6). */
class Dummy extends Bundle {

  /** The outbound SA. */
  val sa = UInt(DummyRow.sa.width.W)

  /** Its plaintext in units of 4 bytes. */
  val units = UInt(DummyRow.length.width.W)
}

/**
 * Says when a dummy packet is due: table `dummy` of regs/rows.rdl, of [[DummySchedule.entries]]
 * rows, and the time since the last one of each.
 *
 * A row has its turn once in as many cycles as there are rows, and its dummy is due when the row
 * has had `interval` turns since the last one, or since it became valid or `enable` rose. `due`
 * holds it until it is taken. What becomes due meanwhile is next, round robin, and its row's time
 * starts when `due` has it: so a row that is always due gets no more than the others, and nothing
 * is made up for. `revoked` says that software has written the row of `due` since.
 */
class DummySchedule extends Module {
  import DummySchedule._

  val io = IO(new Bundle {
    val enable = Input(Bool())
    val due = Decoupled(new Dummy)
    val revoked = Output(Bool())
    val table = Flipped(new TablePort)
    val ready = Output(Bool())

    /** A row has a flipped bit: no dummy is due by it. */
    val rowUpset = Output(Bool())
  })

  private val rows = DirectTable(entries, DummyRow, DummyRow.valid)
  rows.io.table <> io.table
  rows.io.clear := false.B
  io.ready := rows.io.ready
  io.rowUpset := RegNext(rows.upset, false.B)

  private val slot = RegInit(0.U(log2Ceil(entries).W))
  slot := slot + 1.U
  rows.io.lookup.valid := true.B
  rows.io.lookup.bits := slot

  // Each row's time in turns, read so that it comes with the row. It stands still at its end.
  private val ages = SyncReadMem(entries, UInt(DummyRow.interval.width.W))
  private val ageReads = DirectTable.latency - 2
  private val age = RegNext(ages.read(ShiftRegister(slot, ageReads)))
  private val row = rows.io.result.bits.row

  // A cycle later: is it due, and may it be said?
  private val runs = RegNext(rows.io.result.bits.hit && io.enable, false.B)
  private val reached = RegNext(age >= DummyRow.interval(row))
  private val older = RegNext(Mux(age.andR, age, age + 1.U))
  private val here = ShiftRegister(slot, DirectTable.latency + 1)
  private val dummy = Wire(new Dummy)
  dummy.sa := DummyRow.sa(row)
  dummy.units := DummyRow.length(row)

  private val turn = RegInit(0.U(slot.getWidth.W))
  private val held = RegInit(false.B)
  private val holder = Reg(chiselTypeOf(slot))
  private val holding = Reg(new Dummy)
  private val isTurn = here === turn
  private val isDue = runs && reached
  private val takes = isDue && isTurn && !held
  when(isTurn && !(isDue && held)) { turn := turn + 1.U }
  ages.write(here, Mux(runs, Mux(takes, 1.U, older), 0.U))

  private val revoked = RegInit(false.B)
  when(io.due.fire) { held := false.B }
  // As late as a look-up before it can be, so that no old row is taken behind it.
  private val written = ShiftRegister(rows.written.valid, DirectTable.latency + 1, false.B, true.B)
  when(written && ShiftRegister(rows.written.bits, DirectTable.latency + 1) === holder) { revoked := true.B }
  when(takes) {
    held := true.B
    holder := here
    holding := RegNext(dummy)
    revoked := false.B
  }
  io.due.valid := held
  io.due.bits := holding
  io.revoked := revoked
}

object DummySchedule {

  /** Rows of the table, and cycles of a unit of `interval`. */
  val entries: Int = 16
}
