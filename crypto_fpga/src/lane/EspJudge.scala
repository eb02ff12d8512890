// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream

/** The findings about a packet at its end. */
class LaneDecision extends Bundle {
  val verdict = Verdict()

  /** Bytes of the payload, without padding and trailer. */
  val length = UInt(PacketStream.lengthBits.W)
  val nextHeader = UInt(8.W)
}

class LaneDecided(config: LaneConfig) extends Bundle {
  val slot = UInt(config.slotBits.W)
  val decision = new LaneDecision
}

/**
 * Judges a decrypted packet: ICV first, then the pad length against the payload, then the padding,
 * then whether there is anything to deliver ([[Verdict]]). Latency 2 cycles from `done`, which
 * comes after the packet's text and [[PadCheck.latency]].
 *
 * `textBytes` is the length of the text of the slot in `done`, in the same cycle.
 */
class EspJudge(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val text = Flipped(Valid(new LaneText(config)))
    val done = Flipped(Valid(new LaneDone(config)))
    val textBytes = Input(UInt(PacketStream.lengthBits.W))
    val decided = Valid(new LaneDecided(config))
  })

  private val trailers = Mem(config.slots, new EspTrailer)
  private val check = Module(new PadCheck(config))
  check.io.in := io.text
  when(check.io.out.valid) { trailers(check.io.out.bits.slot) := check.io.out.bits.trailer }

  private val done = RegNext(io.done.bits)
  private val trailer = RegNext(trailers(io.done.bits.slot))
  private val payload = RegNext(io.textBytes - 2.U)
  private val noNextHeader = 59.U

  private val decided = Reg(new LaneDecided(config))
  decided.slot := done.slot
  decided.decision.length := payload - trailer.padLength
  decided.decision.nextHeader := trailer.nextHeader
  decided.decision.verdict := Mux(
    !done.authentic,
    Verdict.badIcv,
    Mux(
      trailer.padLength > payload,
      Verdict.truncated,
      Mux(
        !trailer.padded,
        Verdict.badPadding,
        Mux(trailer.nextHeader === noNextHeader || trailer.padLength === payload, Verdict.dummy, Verdict.ok)
      )
    )
  )
  io.decided.valid := ShiftRegister(io.done.valid, 2, false.B, true.B)
  io.decided.bits := decided
}
