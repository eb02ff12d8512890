// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.table

import chisel3._
import chisel3.util._
import sallyport.common.registers.TableWindow
import sallyport.formal.harness.{Bug, Claim, Property}

class TableWindowProperty
    extends Property(
      Claim(
        proves = "A row that a clear cut in two is never offered to a table, and its command ends with an error.",
        clause = "TableWindow",
        bug = Bug("TableWindow", raw"torn <= io_clear \|", "torn <= 1'h0 &"),
        assumes = Seq(
          "A write strobe comes alone: RegisterBank decodes one address a cycle.",
          "A table answers a request that it took, once, and none else: TableMux."
        ),
        depth = 2,
        reach = 10
      )
    ) {
  private val dut = Module(new TableWindow)
  private val word = any(UInt(5.W))
  private val strobe = any(UInt(4.W))
  private val clear = any(Bool())
  assume(PopCount(strobe) <= 1.U)
  dut.io.setWord := Mux(strobe(0), UIntToOH(word, 32), 0.U)
  dut.io.setSelect := strobe(1)
  dut.io.setIndex := strobe(2)
  dut.io.command := strobe(3)
  dut.io.data := any(UInt(32.W))
  dut.io.mask := any(UInt(32.W))
  dut.io.clear := clear
  private val request = dut.io.table.request
  request.ready := any(Bool())
  dut.io.table.response.valid := any(Bool())
  dut.io.table.response.bits.error := any(Bool())
  dut.io.table.response.bits.row := any(UInt(1024.W))

  private val waiting = RegInit(false.B)
  when(request.fire) { waiting := true.B }.elsewhen(dut.io.table.response.valid) { waiting := false.B }
  assume(!dut.io.table.response.valid || waiting)
  assert(!waiting || dut.io.busy && !request.valid)
  assert(!request.valid || dut.io.busy)

  // Whether software began the row with word 0 after the last clear.
  private val begun = RegInit(true.B)
  when(clear) { begun := false.B }.elsewhen(!dut.io.busy && strobe(0) && word === 0.U) { begun := true.B }
  private val write = request.bits.write
  assert(spy("dut.torn") === !begun)
  assert(!(request.valid && write) || begun || request.bits.row === 0.U)
  private val ends = before(dut.io.busy) && !dut.io.busy
  when(running && ends && before(write) && before(!begun)) { assert(dut.io.error) }
  assert(!(dut.io.busy && write && !begun) || dut.io.shadow.asUInt === 0.U)
  cover(request.fire && write && request.bits.row =/= 0.U && begun)
  cover(running && ends && before(write) && before(!begun))
}
