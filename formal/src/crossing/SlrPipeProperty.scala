// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.crossing

import chisel3._
import chisel3.util._
import sallyport.boards.clocks.SlrPipe
import sallyport.common.crossing.SlrStage
import sallyport.formal.harness.{Bug, Claim, Property}

class SlrPipeProperty
    extends Property(
      Claim(
        proves = "A way between two SLRs delays words by its stages, and at most `spare` words come after `room` fell.",
        clause = "SlrPipe, SlrStage",
        bug = Bug("SlrStage_3", raw"io_out_bits = io_out_REG_bits", "io_out_bits = ~io_out_REG_bits"),
        depth = 8,
        reach = 16
      )
    ) {
  private val dut = Module(new SlrPipe(UInt(3.W)))
  private val offers = any(Bool())
  private val offered = any(UInt(3.W))
  private val room = any(Bool())
  dut.io.in.valid := offers
  dut.io.in.bits := offered
  dut.io.room := room

  private val stages = SlrStage.stages
  private val started = ShiftRegister(true.B, 2 * stages, false.B, true.B)
  private val sent = ShiftRegister(dut.io.in.fire, stages)
  private val word = ShiftRegister(offered, stages)
  when(started) { assert(dut.io.out.valid === sent && (!sent || dut.io.out.bits === word)) }
  // Words that have come since room fell.
  private val late = RegInit(0.U(4.W))
  late := Mux(room, 0.U, late + dut.io.out.valid)
  private val low = RegInit(0.U(4.W))
  low := Mux(room, 0.U, Mux(low === 15.U, low, low + 1.U))
  when(started) {
    assert(late <= SlrPipe.spare.U)
    assert(late <= low)
    assert(!(low >= SlrPipe.spare.U && dut.io.out.valid))
  }
  cover(started && late === SlrPipe.spare.U)
}
