// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._

/**
 * Routes the register bank's [[TablePort]] to the tables by number; a number without a table
 * answers error.
 *
 * A request that its table has not taken after `patience` cycles is withdrawn and answers error:
 * nothing was written or read. So a table that waits for traffic on a stalled link does not keep
 * software from the others.
 *
 * Every output is a register or, for the row of a request, the bank's shadow row itself, which
 * stands still until `ready`. Adds two cycles to an access.
 */
class TableMux(tables: Int, patience: Int = TableMux.patience) extends Module {
  require(tables >= 1 && tables <= 255, s"1 to 255 tables, not $tables")
  require(isPow2(patience) && patience >= 2, s"the patience is counted in bits: a power of two, not $patience cycles")
  val io = IO(new Bundle {
    val in = Flipped(new TablePort)
    val out = Vec(tables, new TablePort)
  })

  object State extends ChiselEnum { val idle, offer, taken, waiting = Value }
  private val state = RegInit(State.idle)
  private val select = Reg(Vec(tables, Bool()))
  private val response = RegInit(0.U.asTypeOf(io.in.response))
  private val waited = Reg(UInt((log2Ceil(patience) + 1).W))

  private val request = io.in.request
  private val expired = waited.head(1).asBool
  private val none = !select.asUInt.orR
  private val taken = VecInit(io.out.map(_.request.fire)).asUInt.orR
  private val answered = VecInit(io.out.map(_.response.valid)).asUInt.orR

  response.valid := answered || (state === State.taken && none)
  response.bits.error := none || Mux1H(io.out.map(o => o.response.valid -> o.response.bits.error))
  response.bits.row := Mux1H(io.out.map(o => o.response.valid -> o.response.bits.row))

  switch(state) {
    is(State.idle) {
      for (n <- 0 until tables) select(n) := request.bits.table === n.U
      waited := 0.U
      when(request.valid) { state := State.offer }
    }
    is(State.offer) {
      waited := waited + 1.U
      when(expired && !taken) { select.foreach(_ := false.B) }
      when(taken || none) { state := State.taken }
    }
    is(State.taken) { state := State.waiting }
    is(State.waiting) { when(io.in.response.valid) { state := State.idle } }
  }
  request.ready := state === State.taken
  io.in.response := response
  for ((out, n) <- io.out.zipWithIndex) {
    out.request.valid := state === State.offer && select(n)
    out.request.bits := request.bits
  }
}

object TableMux {

  /**
   * Cycles that a table may let a request wait: 0.9 ms at 300 MHz. Three times the clearing of 2^16
   * rows is less, and so is the time in which all packets inside a chip leave it on a moving link.
   */
  val patience: Int = 1 << 18
}
