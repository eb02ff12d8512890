// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.table

import chisel3._
import chisel3.util._
import sallyport.common.table.{TableMux, TableRequest, TableResponse}
import sallyport.formal.harness.{Bug, Claim, Property}

/** Two tables, and a patience of 4 cycles instead of 2^18. */
class TableMuxProperty
    extends Property(
      Claim(
        proves =
          "One table at most takes a request, each has one answer, and a stalled table holds it for the patience alone.",
        clause = "TableMux, TablePort",
        bug = Bug("TableMux", raw"expired & ~taken|waited\[2\] & ~taken", "1'h0"),
        assumes = Seq(
          "A request stands still until it is taken, and the next comes after its answer: TableWindow.",
          "A table answers what it took, once, a cycle later or more, with a number that has no table or one that has: TableAccess."
        ),
        depth = 3,
        reach = 16
      )
    ) {
  private val patience = 4
  private val dut = Module(new TableMux(tables = 2, patience))
  private val port = dut.io.in
  private val asks = any(Bool())
  private def narrow[T <: Data](bits: T, row: T => UInt): T = {
    val free = WireDefault(any(chiselTypeOf(bits)))
    row(free) := any(UInt(2.W))
    free
  }
  // Rows are passed on whole, so 2 bits of one will do.
  private val request = narrow(port.request.bits, (r: TableRequest) => r.row)
  port.request.valid := asks
  port.request.bits := request
  // Requests taken and not answered.
  private val open = RegInit(false.B)
  when(port.response.valid) { open := false.B }.elsewhen(port.request.fire) { open := true.B }
  assume(!(asks && open))
  assume(!(running && before(asks && !port.request.ready)) || asks && request.asUInt === before(request.asUInt))
  assert(!port.response.valid || open)

  private val busy = Seq.tabulate(2) { n =>
    val busy = RegInit(false.B)
    val answers = any(Bool())
    val response = narrow(port.response.bits, (r: TableResponse) => r.row)
    val out = dut.io.out(n)
    out.request.ready := any(Bool())
    out.response.valid := answers
    out.response.bits := response
    assume(!answers || busy)
    when(answers) { busy := false.B }.elsewhen(out.request.fire) { busy := true.B }
    assert(!out.request.valid || request.table === n.U && !busy)
    val told = port.response.valid && port.response.bits.asUInt === before(response.asUInt)
    assert(!(running && before(answers)) || told)
    busy
  }
  private val fires = dut.io.out.map(_.request.fire)
  private val took = RegInit(false.B)
  when(fires.reduce(_ || _)) { took := true.B }.elsewhen(port.response.valid) { took := false.B }
  assert(PopCount(dut.io.out.map(_.request.valid)) <= 1.U && PopCount(busy) <= 1.U)
  when(port.response.valid && !took) { assert(port.response.bits.error) }
  assert(!(port.response.valid && busy.reduce(_ || _)))

  private val waited = RegInit(0.U(4.W))
  waited := Mux(asks && !port.request.ready, waited + 1.U, 0.U)
  assert(waited <= (patience + 3).U)

  // States: 0 idle, 1 offer, 2 taken, 3 waiting.
  private val state = spy("dut.state", 2)
  private val selected = Seq.tabulate(2)(n => spy(s"dut.select_$n"))
  private val count = spy("dut.waited", 3)
  assert(open === (state === 3.U))
  assert(PopCount(selected) <= 1.U || state === 0.U)
  for (n <- 0 until 2) {
    assert(!busy(n) || state(1) && selected(n))
    assert(!(state === 1.U && selected(n)) || request.table === n.U)
  }
  assert(
    took === (state(1) && selected.reduce(_ || _)) || state === 3.U && port.response.valid || state === 0.U && !took
  )
  assert(state =/= 0.U || !took)
  assert(state =/= 2.U || !port.response.valid && took === busy.reduce(_ || _))
  assert(state =/= 3.U || port.response.valid || busy.reduce(_ || _))
  assert(!(state(1) === false.B && port.response.valid))
  assert(state === 0.U || state === 3.U || asks)
  assert(state =/= 0.U || waited === 0.U)
  assert(state =/= 1.U || waited === count +& 1.U && count <= (patience + 1).U)
  assert(!(state === 1.U && count === (patience + 1).U) || !selected.reduce(_ || _))
  assert(state =/= 2.U || waited <= (patience + 3).U)
  cover(port.response.valid && !port.response.bits.error && took)
  cover(port.response.valid && !took && before(before(request.table)) === 1.U)
}
