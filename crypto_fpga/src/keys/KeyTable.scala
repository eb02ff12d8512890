package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common._
import sallyport.common.regs.{Row, RowField}

/**
 * A write-only key table whose rows change only between packets.
 *
 * What is kept per SA beside the row (sequence counter, highest number) starts anew with the row: for that a write waits until
 * `mayWrite`, then raises `hold`, which keeps new packets from starting a fetch, until `drained` says that no packet is between its
 * lookup and its number, writes, and pulses `restart`. Traffic waits some 20 cycles and loses nothing.
 *
 * Lookups: `result` follows `lookup` by `DirectTable.latency` cycles and stays. `clear` empties the table; a write that is under way then writes a row of
 * zeros. `scrub` reads a row for its own sake, which no packet sees: after a clear the output register then holds none of a key.
 */
class KeyTable(saBits: Int, row: Row, valid: RowField) extends Module {
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

  private val table = DirectTable(1 << saBits, row, valid, writeOnly = true)
  table.io.clear := io.clear
  io.ready := table.io.ready
  table.io.lookup.valid := io.lookup.valid || io.scrub
  table.io.lookup.bits := io.lookup.bits
  io.result := table.io.result.bits

  object State extends ChiselEnum { val idle, holding, settling, draining, offer, writing = Value }
  private val state = RegInit(State.idle)
  switch(state) {
    is(State.idle) { when(io.table.request.valid && io.mayWrite) { state := State.holding } }
    // `hold` reaches the packets; the last one that begins counts in `drained` by the end of `settling`.
    is(State.holding) { state := State.settling }
    is(State.settling) { state := State.draining }
    is(State.draining) { when(io.drained) { state := State.offer } }
    is(State.offer) { when(io.table.request.fire) { state := State.writing } }
    is(State.writing) { when(table.io.table.response.valid) { state := State.idle } }
  }
  io.hold := state =/= State.idle
  table.io.table.request.valid := io.table.request.valid && state === State.offer
  table.io.table.request.bits := io.table.request.bits
  io.table.request.ready := table.io.table.request.ready && state === State.offer
  io.table.response := table.io.table.response
  io.restart := table.written
}
