// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._
import sallyport.common.memory.{MemoryPipe, RowCode}
import sallyport.common.registers.map.{Row, RowField}
import sallyport.common.table.{DirectTable, DirectTableParams, TablePort, TableResult}

/**
 * A write-only key table whose rows change only between packets.
 *
 * The state of an SA beside the row (sequence counter, highest number) starts anew with the row:
 * for that a write waits until `mayWrite` and for a [[PacketPause]] (`hold`, `drained`), writes,
 * and pulses `restart`.
 *
 * Lookups: `result` follows `lookup` by [[KeyTable.latency]] cycles. `clear` empties the table; a
 * write that is under way then writes a row of zeros. `scrub` reads a row of each bank for its own
 * sake, which no packet sees: after a clear no output register then holds any of a key.
 *
 * @param code rows are its words in the memory; `check` has the check bits of `result`
 * @param pipe registers of the memory
 * @param memory of such rows
 */
class KeyTable(
    saBits: Int,
    row: Row,
    valid: RowField,
    code: RowCode,
    pipe: MemoryPipe,
    memory: DirectTableParams => DirectTable = new DirectTable(_)
) extends Module {
  val io = IO(new Bundle {
    val lookup = Flipped(Valid(UInt(saBits.W)))
    val result = Output(new TableResult(row.bits))
    val table = Flipped(new TablePort)
    val mayWrite = Input(Bool())
    val hold = Output(Bool())
    val drained = Input(Bool())
    val restart = Valid(UInt(saBits.W))
    val clear = Input(Bool())
    val scrub = Input(Bool())
    val ready = Output(Bool())
  })

  private val params = DirectTableParams(1 << saBits, row.bits, valid, writeOnly = true, row.gaps, Some(code), pipe)
  require(params.latency == KeyTable.latency)
  private val table = Module(memory(params))
  val check = IO(Output(UInt(code.checkBits.W)))
  check := table.check.get
  table.io.clear := io.clear
  io.ready := table.io.ready
  table.io.lookup.valid := io.lookup.valid
  table.every.get := RegNext(io.scrub, false.B)
  table.io.lookup.bits := io.lookup.bits
  io.result := table.io.result.bits

  private val pause = Module(new PacketPause)
  pause.io.in <> io.table
  table.io.table <> pause.io.out
  pause.io.may := io.mayWrite
  pause.io.drained := io.drained
  io.hold := pause.io.hold
  io.restart := table.written
}

object KeyTable {

  /** Cycles from a lookup to its row. */
  val latency: Int = 1 + MemoryPipe.banks.latency
}
