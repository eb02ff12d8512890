// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._

/**
 * Brings together the two that raise an SA's highest number: what lanes verified, and what software
 * says was on another box. None is lost.
 *
 * A verified number cannot wait. It comes in the cycle after its packet begins to leave the lanes,
 * and packets begin two cycles apart at the closest. None may begin while `hold`, a register, is
 * high. Software's numbers wait for that, and go in the second cycle of `hold` at the soonest, when
 * no verified one can come any more. Both pass in the cycle in which they are taken.
 */
class NumberRaise(saBits: Int) extends Module {
  val io = IO(new Bundle {
    val verified = Flipped(Valid(new EsnUpdate(saBits)))
    val software = Flipped(Decoupled(new EsnUpdate(saBits)))
    val hold = Output(Bool())
    val update = Decoupled(new EsnUpdate(saBits))

    /** `update` has room for two, so for one that is on its way here while `hold` rises. */
    val ample = Input(Bool())
  })

  private val hold = RegNext(!io.ample || io.software.valid, false.B)
  private val held = hold && RegNext(hold, false.B)
  io.hold := hold
  io.software.ready := io.update.ready && held
  io.update.valid := io.verified.valid || io.software.valid && held
  io.update.bits := Mux(io.verified.valid, io.verified.bits, io.software.bits)
  assert(!io.verified.valid || (io.update.ready && !held), "a verified number found no room")
}
