// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.keys

import chisel3._
import chisel3.util._
import sallyport.common.table.TableAccess
import sallyport.crypto.keys.Zeroizer
import sallyport.formal.harness.{Bug, Claim, Property}

/** The two harnesses give lanes 8 cycles instead of 288. */
private object LanesCycles {
  val few = 8
}

class ZeroizerProperty
    extends Property(
      Claim(
        proves =
          "The chip stays blocked after the last trigger until lanes were wiped for 4 cycles, and a cleared row was read from the tables.",
        clause = "Zeroizer",
        bug = Bug("Zeroizer", raw"again <= trigger \?", "again <= 1'h0 & trigger ?"),
        depth = 3,
        reach = 30
      )
    ) {
  private val dut = Module(new Zeroizer(LanesCycles.few))
  private val request = any(Bool())
  dut.io.request := request
  dut.io.tamper := any(Bool())
  dut.io.tablesReady := any(Bool())

  private val tamper = spy("dut.tamper")
  private val trigger = request || tamper =/= RegNext(tamper, false.B)
  // Cycles in a row, after the last trigger, in which the lanes are told.
  private val run = RegInit(0.U(3.W))
  private val needsLanes = RegInit(true.B)
  private val wiping = dut.io.zeroizeLanes && !trigger
  run := Mux(wiping, run + 1.U, 0.U)
  when(trigger) { needsLanes := true.B }.elsewhen(run === 3.U && wiping) { needsLanes := false.B }
  private val scrubbed = RegInit(false.B)
  when(trigger) { scrubbed := false.B }.elsewhen(dut.io.scrub) { scrubbed := true.B }

  assert(dut.io.blocked || !needsLanes && scrubbed)
  private val triggered = before(trigger)
  when(running) { assert(dut.io.clearTables === triggered && (!triggered || dut.io.blocked)) }

  // Which states are possible.
  private val age = spy("dut.age", 4)
  private val again = spy("dut.again")
  private val scrubbing = spy("dut.scrubbing", 8)
  assert(age <= LanesCycles.few.U && run <= 4.U)
  assert(!needsLanes || dut.io.blocked && (again || age <= 4.U && run === Mux(age <= 1.U, 0.U, age - 1.U)))
  assert(run === 0.U || run < age && age <= 5.U)
  assert(scrubbing === 0.U || !again && age === LanesCycles.few.U && dut.io.blocked)
  assert(PopCount(scrubbing) <= 1.U && (!(scrubbing >> 1).orR || scrubbed))
  cover(!dut.io.blocked)
  cover(!dut.io.blocked && before(before(dut.io.tampered)))
}

class ErasureTimeProperty
    extends Property(
      Claim(
        proves =
          "Each row of a key table is written with zeros within twice its rows and 4 cycles of the first trigger, however many follow.",
        clause = "Zeroizer, TableAccess",
        bug = Bug("TableAccess", raw"again <= io_clear \?", "again <= 1'h0 & io_clear ?"),
        assumes = Seq("The memory takes a write of zeros in the cycle in which it is offered: DirectTable."),
        depth = 3,
        reach = 20
      )
    ) {
  private val rows = 8
  private val dut = Module(new Zeroizer(LanesCycles.few))
  private val access = Module(new TableAccess(rows, rowBits = 2, clearRows = rows, writeOnly = true, readLatency = 1))
  private val request = any(Bool())
  dut.io.request := request
  dut.io.tamper := any(Bool())
  dut.io.tablesReady := access.io.ready
  access.io.clear := dut.io.clearTables
  access.io.table.request.valid := any(Bool())
  access.io.table.request.bits := any(chiselTypeOf(access.io.table.request.bits))
  access.io.memory.ready := any(Bool()) || access.io.clearing
  access.io.data := 0.U

  private val tamper = spy("dut.tamper")
  private val trigger = request || tamper =/= RegNext(tamper, false.B)
  private val watched = some(UInt(3.W))
  private val due = RegInit(false.B)
  private val time = RegInit(0.U(6.W))
  private val zeroed =
    access.io.clearing && access.io.memory.bits.index === watched && access.io.memory.bits.row === 0.U
  when(zeroed) { due := false.B }.elsewhen(trigger && !due) {
    due := true.B
    time := 0.U
  }.elsewhen(due) { time := time + 1.U }
  assert(!due || time <= (2 * rows + 4).U)

  // The pass has this many rows to clear before the watched one.
  private val clearing = spy("access.clearing")
  private val place = spy("access.place", 3)
  private val again = spy("access.again")
  assert(clearing || !again)
  private val told = dut.io.clearTables
  private val left = Mux(place <= watched, watched - place, rows.U - place +& watched)
  when(due && !told) {
    assert(clearing && (again || place <= watched))
    assert(time +& left <= (2 * rows + 4).U)
  }
  when(due && told) {
    assert(time === 0.U || clearing && (again || place <= watched) && time +& left <= (2 * rows + 4).U)
  }
  cover(due && time === rows.U)
}
