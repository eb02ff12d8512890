// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._

/** One access to a table's memory by its [[TableAccess]]. */
class RowAccess(indexBits: Int, rowBits: Int) extends Bundle {
  val write = Bool()
  val index = UInt(indexBits.W)
  val row = UInt(rowBits.W)
}

/**
 * Software's side of every table: takes one request at a time, answers each once, and clears
 * the table.
 *
 * After reset and after `clear` it writes zero to rows 0 to `clearRows` - 1, one a cycle, with
 * `clearing` high, and then raises `ready`. A `clear` during such a pass does not start it over:
 * the pass ends, and one more follows. If it started over, a `clear` that came again and again
 * would spare the last rows. A request that waits or is under way when `clear` comes continues
 * afterwards with a row of zeros, so a key cannot slip in behind a zeroize.
 *
 * `memory` is held until its `ready`, except that clearing takes the port over; `memory.ready` must
 * be high while `clearing`. Its index is a register, for it may lead to hundreds of blocks. An
 * answer to a read arrives on `data` exactly `readLatency` cycles after the access. Out-of-range
 * rows, and reads where `writeOnly`, answer error and reach no memory. Written rows are kept in no
 * register afterwards.
 *
 * @param rows number of rows that software sees
 * @param clearRows number of writes that clear the table
 * @param exists whether the row of an index below `rows` is there
 */
class TableAccess(
    rows: Int,
    rowBits: Int,
    clearRows: Int,
    writeOnly: Boolean,
    readLatency: Int,
    exists: UInt => Bool = _ => true.B
) extends Module {
  require(rows >= 2 && rows <= (1 << 24), s"a table has 2 to 2^24 rows, not $rows")
  require(clearRows >= 2 && clearRows <= rows, s"cannot clear $rows rows by $clearRows writes")
  require(rowBits >= 1 && rowBits <= TablePort.rowBits, s"a row has 1 to ${TablePort.rowBits} bits, not $rowBits")
  require(readLatency >= 1, "a memory answers after at least one cycle")
  private val indexBits = log2Ceil(rows)

  val io = IO(new Bundle {
    val table = Flipped(new TablePort)
    val clear = Input(Bool())
    val ready = Output(Bool())
    val clearing = Output(Bool())
    val memory = Decoupled(new RowAccess(indexBits, rowBits))

    /** `memory.bits.index` but while `clearing`: a register with few loads. */
    val index = Output(UInt(indexBits.W))
    val data = Input(UInt(rowBits.W))

    /** A request is under way, or the table is being cleared. */
    val busy = Output(Bool())
  })

  object State extends ChiselEnum { val idle, access, reading, respond = Value }
  private val state = RegInit(State.idle)
  private val request = Reg(new RowAccess(indexBits, rowBits))
  private val error = Reg(Bool())
  private val countdown = Reg(UInt(log2Ceil(readLatency + 1).W))
  private val clearing = RegInit(true.B)
  private val place = RegInit(0.U(indexBits.W))
  private val again = RegInit(false.B)

  private val passEnds = place === (clearRows - 1).U
  when(clearing) {
    place := place + 1.U
    when(passEnds) {
      place := Mux(again, 0.U, request.index)
      clearing := again
      again := false.B
    }
  }
  when(io.clear) {
    clearing := true.B
    again := clearing && !passEnds
  }
  io.ready := !clearing
  io.clearing := clearing

  private val bits = io.table.request.bits
  io.table.request.ready := state === State.idle && !clearing
  switch(state) {
    is(State.idle) {
      when(io.table.request.fire) {
        val refused = bits.index >= rows.U || !exists(bits.index) || (writeOnly.B && !bits.write)
        request.write := bits.write
        request.index := bits.index(indexBits - 1, 0)
        place := bits.index(indexBits - 1, 0)
        request.row := Mux(bits.write && !refused, bits.row(rowBits - 1, 0), 0.U)
        error := refused
        state := Mux(refused, State.respond, State.access)
      }
    }
    is(State.access) {
      countdown := (readLatency - 1).U
      when(io.memory.ready && !clearing) {
        state := Mux(request.write, State.respond, State.reading)
        request.row := 0.U
      }
    }
    is(State.reading) {
      countdown := countdown - 1.U
      when(countdown === 0.U) {
        request.row := io.data
        state := State.respond
      }
    }
    is(State.respond) { state := State.idle }
  }
  when(io.clear) {
    request.row := 0.U
    when(!clearing || passEnds) { place := 0.U }
  }

  io.memory.valid := clearing || state === State.access
  io.memory.bits.write := clearing || request.write
  io.memory.bits.index := place
  io.memory.bits.row := Mux(clearing, 0.U, request.row)
  io.index := request.index
  io.table.response.valid := state === State.respond
  io.table.response.bits.error := error
  io.table.response.bits.row := request.row
  io.busy := clearing || state =/= State.idle

  assert(!clearing || io.memory.ready, "a table must not stall its clearing")
}
