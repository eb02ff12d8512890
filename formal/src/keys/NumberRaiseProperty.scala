// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.keys

import chisel3._
import chisel3.util._
import sallyport.crypto.keys.{EsnUpdate, NumberRaise}
import sallyport.formal.harness.{Bug, Claim, Property}

/** Bit 0 of a number marks those that lanes verified. */
class NumberRaiseProperty
    extends Property(
      Claim(
        proves =
          "A verified number always finds room, and software's go one by one between them: none is lost or doubled.",
        clause = "RFC 4303 3.4.3 (verified numbers move the window), NumberRaise",
        bug = Bug("NumberRaise", raw"io_software_valid & held", "io_software_valid & hold"),
        assumes = Seq(
          "Packets begin two cycles apart, none with `hold`, and are verified a cycle later: Merge, DecryptPath.",
          "The queue behind has 4 places, and `ample` while 2 are free: EsnInference."
        ),
        depth = 4,
        reach = 12
      )
    ) {
  private val places = 4
  private val dut = Module(new NumberRaise(saBits = 1))
  private val begins = any(Bool())
  private val begun = RegNext(begins, false.B)
  assume(!(begins && (begun || dut.io.hold)))
  // A packet whose ICV is wrong, or of an older row, verifies nothing.
  private val verified = any(Valid(new EsnUpdate(1)))
  assume(!verified.valid || begun)
  assume(verified.bits.sequence(0))
  dut.io.verified := verified
  private val software = any(Valid(new EsnUpdate(1)))
  assume(!software.bits.sequence(0))
  dut.io.software.valid := software.valid
  dut.io.software.bits := software.bits

  private val count = RegInit(0.U(log2Ceil(places + 1).W))
  private val leaves = any(Bool())
  dut.io.update.ready := count =/= places.U
  dut.io.ample := count <= (places - 2).U
  count := count + dut.io.update.fire - (leaves && count =/= 0.U)

  private val update = dut.io.update
  assert(!verified.valid || update.fire && update.bits.asUInt === verified.bits.asUInt)
  private val taken = dut.io.software.fire
  assert(!taken || update.fire && update.bits.asUInt === software.bits.asUInt)
  assert(update.fire === (verified.valid || taken))

  // Which states are possible: a number that is on its way has room.
  private val hold = spy("dut.hold")
  assert(count <= places.U && (!begun || count < places.U && !spy("dut.held_REG")))
  private val waits = RegNext(software.valid && !taken, false.B)
  cover(taken && before(verified.valid) && waits)
  cover(verified.valid && count === (places - 1).U)
  cover(!dut.io.ample && hold && !software.valid)
}
