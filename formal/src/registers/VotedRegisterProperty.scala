// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.registers

import chisel3._
import chisel3.util.experimental.BoringUtils
import sallyport.common.registers.VotedRegister
import sallyport.formal.harness.{Bug, Claim, Property}

/** 4 bits, which do not depend on each other. */
private class Flipped(flips: Seq[UInt]) extends VotedRegister(4, 5) {
  override def desiredName = "VotedRegister"

  override protected def copy(number: Int, next: UInt, reset: UInt): UInt =
    RegNext(next ^ BoringUtils.bore(flips(number)), reset)
}

class VotedRegisterProperty
    extends Property(
      Claim(
        proves = "A control register keeps its value though a copy of each of its bits flips in each cycle.",
        clause = "VotedRegister",
        bug = Bug("VotedRegister", raw"plain & later", "4'h0"),
        assumes = Seq("No bit flips in the cycle after a write: VotedRegister names this limit.")
      )
    ) {
  private val flips = Seq.fill(3)(any(UInt(4.W)))
  private val dut = Module(new Flipped(flips))
  dut.io.write := any(chiselTypeOf(dut.io.write))
  private val Seq(a, b, c) = flips
  assume(((a & b) | (a & c) | (b & c)) === 0.U && (!dut.io.write.valid || (a | b | c) === 0.U))

  private val value = RegInit(5.U(4.W))
  when(dut.io.write.valid) { value := dut.io.write.bits }
  assert(dut.io.value === value)

  // Which states are possible: a copy that is wrong in a bit, and behind after a write.
  private val written = RegNext(dut.io.write.valid, false.B)
  private val wrong = Seq(spy("dut.plain", 4) ^ value, ~(spy("dut.inverted", 4) ^ value), spy("dut.later", 4) ^ value)
  assert(spy("dut.written") === written)
  when(written) { assert((wrong(0) | wrong(1)) === 0.U) }
    .otherwise { assert(((wrong(0) & wrong(1)) | (wrong(0) & wrong(2)) | (wrong(1) & wrong(2))) === 0.U) }
  cover(dut.io.repairs && !written && dut.io.value === 10.U)
}
