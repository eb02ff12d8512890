// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.table

import chisel3._
import sallyport.common.table.TableAccess
import sallyport.formal.harness.{Bug, Claim, Property}

/** A table of 4 rows of 2 bits; rows and bits are counted alike in larger ones. */
class TableAccessProperty
    extends Property(
      Claim(
        proves =
          "A clear zeroes every row before the table is ready, and a row taken before the clear is written as zeros.",
        clause = "TableAccess",
        bug = Bug("TableAccess", raw"if \(io_clear\)", "if (1'h0)"),
        assumes = Seq(
          "The memory takes a write of zeros in the cycle in which it is offered: DirectTable, CuckooTable and RuleWriter tie `ready` to `clearing`."
        ),
        depth = 3,
        reach = 16
      )
    ) {
  private val dut = Module(new TableAccess(rows = 4, rowBits = 2, clearRows = 4, writeOnly = false, readLatency = 1))
  private val valid = any(Bool())
  private val index = any(UInt(2.W))
  private val write = any(Bool())
  private val row = any(UInt(2.W))
  private val clear = any(Bool())
  private val ready = any(Bool())
  dut.io.table.request.valid := valid
  dut.io.table.request.bits.table := 0.U
  dut.io.table.request.bits.index := index
  dut.io.table.request.bits.write := write
  dut.io.table.request.bits.row := row
  dut.io.clear := clear
  dut.io.memory.ready := ready || dut.io.clearing
  dut.io.data := any(UInt(2.W))

  // The request under way, and whether a clear has come since it was taken.
  private val underWay = RegInit(false.B)
  private val taken = Reg(UInt(2.W))
  private val takenRow = Reg(UInt(2.W))
  private val takenWrite = Reg(Bool())
  private val stale = Reg(Bool())
  private val access = dut.io.memory.fire && !dut.io.clearing
  when(dut.io.table.request.fire) {
    underWay := true.B
    taken := index
    takenRow := row
    takenWrite := write
    stale := clear
  }.otherwise {
    when(clear) { stale := true.B }
    when(access) { underWay := false.B }
  }
  when(access) {
    assert(underWay && dut.io.memory.bits.index === taken && dut.io.memory.bits.write === takenWrite)
    assert(!takenWrite || dut.io.memory.bits.row === Mux(stale, 0.U, takenRow))
  }

  // Any row, since the last clear.
  private val watched = some(UInt(2.W))
  private val dirty = RegInit(true.B)
  private val zeroed = dut.io.clearing && dut.io.memory.bits.index === watched
  when(clear) { dirty := true.B }.elsewhen(zeroed) { dirty := false.B }
  when(dut.io.clearing) { assert(dut.io.memory.bits.write && dut.io.memory.bits.row === 0.U) }
  assert(!(dut.io.ready && dirty))

  // States: 0 idle, 1 access, 2 reading, 3 respond.
  private val state = spy("dut.state", 2)
  assert(underWay === (state === 1.U))
  when(underWay) {
    assert(spy("dut.request_index", 2) === taken && spy("dut.request_write") === takenWrite)
    assert(!takenWrite || spy("dut.request_row", 2) === Mux(stale, 0.U, takenRow))
  }
  private val clearing = spy("dut.clearing")
  private val again = spy("dut.again")
  private val place = spy("dut.place", 2)
  assert(clearing || !again)
  assert(!underWay || clearing || place === taken)
  assert(!dirty || clearing && (again || place <= watched))
  cover(access && takenWrite && stale && takenRow =/= 0.U)
  cover(dut.io.ready && before(!dut.io.ready) && watched === 3.U)
}
