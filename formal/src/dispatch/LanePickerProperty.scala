// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.dispatch

import chisel3._
import chisel3.util._
import sallyport.crypto.dispatch.LanePicker
import sallyport.formal.harness.{Bug, Claim, Property}

class LanePickerProperty
    extends Property(
      Claim(
        proves = "The lane that is picked of 4 is exactly one, it had room, and it was not the last one taken.",
        clause = "LanePicker",
        bug = Bug("LanePicker", raw"= ~recent;", "= 4'hF;"),
        assumes = Seq("Dispatcher takes one of the lanes picked."),
        depth = 3,
        reach = 10
      )
    ) {
  private val lanes = 4
  private val dut = Module(new LanePicker(lanes))
  private val ready = Seq.fill(2)(any(UInt(lanes.W)))
  private val taken = any(Bool())
  private val kind = any(Bool())
  private val blocks = any(UInt(LanePicker.workBits.W))
  for (k <- 0 to 1) dut.io.laneReady(k) := ready(k)
  dut.io.taken := taken
  dut.io.lane := Mux(kind, dut.io.pick(1), dut.io.pick(0))
  dut.io.blocks := blocks
  assume(blocks =/= 0.U)
  assume(!taken || Mux(kind, dut.io.valid(1), dut.io.valid(0)))

  private val lastTaken = RegNext(Mux(taken, dut.io.lane, 0.U), 0.U)
  for (k <- 0 to 1) {
    val pick = dut.io.pick(k)
    val (had, last) = (before(ready(k)), before(lastTaken))
    when(dut.io.valid(k)) { assert(PopCount(pick) === 1.U && (pick & had) =/= 0.U && (pick & last) === 0.U) }
    assert(PopCount(pick) <= 1.U)
    assert(!(running && before(taken) && dut.io.valid(k)))
  }
  cover(taken && before(before(taken)))
  cover(taken && dut.io.lane === 8.U)
}
