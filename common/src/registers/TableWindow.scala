// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import sallyport.common.registers.map.{CommonRegs, TableCommand}
import sallyport.common.table.TablePort

/**
 * The registers of the table window and the command they start (regs/common.rdl, table_block).
 *
 * A write strobe (`setWord` one-hot, `setSelect`, `setIndex`, `command`) comes alone, and while
 * `busy` does nothing. The shadow row is cleared when a write command is done and by `clear`, so
 * that no key stays in it.
 *
 * A `clear` may cut a row in two while software writes its words. So the write command under way
 * fails, and so does every later one, which then reaches no table, until software begins a row anew
 * with word 0. While `clear` stays high, no row can be begun.
 */
class TableWindow extends Module {
  private val words = CommonRegs.tableData.count
  val io = IO(new Bundle {
    val setWord = Input(UInt(words.W))
    val setSelect = Input(Bool())
    val setIndex = Input(Bool())
    val command = Input(Bool())
    val data = Input(UInt(32.W))
    val mask = Input(UInt(32.W))
    val clear = Input(Bool())
    val shadow = Output(Vec(words, UInt(32.W)))
    val select = Output(UInt(8.W))
    val index = Output(UInt(24.W))
    val busy = Output(Bool())
    val error = Output(Bool())
    val table = new TablePort
  })

  private val row = RegInit(VecInit.fill(words)(0.U(32.W)))
  private val select = RegInit(0.U(8.W))
  private val index = RegInit(0.U(24.W))
  private val write = Reg(Bool())
  private val offered = RegInit(false.B)
  private val busy = RegInit(false.B)
  private val error = RegInit(false.B)
  private val torn = RegInit(false.B)
  private def merge(old: UInt): UInt = (old & ~io.mask(old.getWidth - 1, 0)) | (io.data & io.mask)(old.getWidth - 1, 0)

  private val number = (io.data & io.mask)(CommonRegs.TableCommand.command.msb, CommonRegs.TableCommand.command.lsb)
  when(!busy) {
    for (n <- 0 until words) when(io.setWord(n)) { row(n) := merge(row(n)) }
    when(io.setWord(0)) { torn := false.B }
    when(io.setSelect) { select := merge(select) }
    when(io.setIndex) { index := merge(index) }
    when(io.command) {
      val writes = number === TableCommand.write.U
      val good = number === TableCommand.read.U || (writes && !torn)
      busy := good
      offered := good
      error := !good
      write := writes
      when(writes && torn) { row.foreach(_ := 0.U) }
    }
  }
  when(io.table.request.fire) { offered := false.B }
  when(io.table.response.valid) {
    busy := false.B
    error := io.table.response.bits.error || (write && torn)
    for (n <- 0 until words) {
      val word = io.table.response.bits.row(32 * n + 31, 32 * n)
      row(n) := Mux(write || io.table.response.bits.error, 0.U, word)
    }
  }
  when(io.clear) {
    row.foreach(_ := 0.U)
    torn := true.B
  }

  io.shadow := row
  io.select := select
  io.index := index
  io.busy := busy
  io.error := error
  io.table.request.valid := offered
  io.table.request.bits.table := select
  io.table.request.bits.index := index
  io.table.request.bits.write := write
  io.table.request.bits.row := row.asUInt

  assert(!io.table.response.valid || (busy && !offered), "an answer to no table request")
}
