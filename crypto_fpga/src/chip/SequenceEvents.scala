// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.CryptoRegs

/**
 * The register SEQUENCE_EVENTS: sticky bits for soft and hard limit, and the SA of the last event,
 * until `clear`.
 */
class SequenceEvents(saBits: Int) extends Module {
  val io = IO(new Bundle {
    val softLimit = Flipped(Valid(UInt(saBits.W)))
    val exhausted = Flipped(Valid(UInt(saBits.W)))
    val clear = Input(Bool())
    val value = Output(UInt(32.W))
  })
  private val softReached = RegInit(false.B)
  private val exhausted = RegInit(false.B)
  private val sa = RegInit(0.U(16.W))

  when(io.clear) {
    softReached := false.B
    exhausted := false.B
    sa := 0.U
  }
  when(io.softLimit.valid) {
    softReached := true.B
    sa := io.softLimit.bits
  }
  when(io.exhausted.valid) {
    exhausted := true.B
    sa := io.exhausted.bits
  }

  private val fields = CryptoRegs.SequenceEvents
  io.value := (sa << fields.sa.lsb) | (exhausted << fields.exhausted.lsb) | (softReached << fields.softLimit.lsb)
}
