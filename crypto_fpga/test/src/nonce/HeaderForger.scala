// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.nonce

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.Crc
import sallyport.common.link.{LinkFrame, Noise}
import sallyport.common.stream.PacketStream

/**
 * What a captured chip can do that a broken wire cannot: changes random fields of one packet header
 * in 128 and makes check and CRC good again, so that the far end believes false lengths, types,
 * flags, SAs, peer tags, beat counts and credits.
 *
 * Both checks are linear, so that of the change is what they change by. Only headers at the start
 * of a word are touched. No latency.
 */
class HeaderForger(salt: Long) extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val seed = Input(UInt(32.W))
    val in = Flipped(Decoupled(UInt(PacketStream.dataBits.W)))
    val out = Decoupled(UInt(PacketStream.dataBits.W))
    val forged = Output(UInt(32.W))
  })

  private val chance = Noise(salt + 1, io.seed)
  private val values = Noise(salt + 2, io.seed)

  // Units of the open frame that are still to come.
  private val left = RegInit(0.U(14.W))
  private val units = io.in.bits.asTypeOf(Vec(8, UInt(64.W)))
  private val unit = units(left(2, 0))
  private val packet = unit(3, 0) === LinkFrame.packet.U
  private val frame = Mux(unit(3, 0) === LinkFrame.idle.U, 0.U, 2.U +& Mux(packet, (unit(27, 14) +& 7.U) >> 3, 0.U))
  private val end = left +& frame
  when(io.in.fire) { left := Mux(left >= 8.U, left - 8.U, Mux(end > 8.U, end - 8.U, 0.U)) }

  /** Bits of the header (docs/reference/link.md) that a change of each kind may flip. */
  private def bits(high: Int, low: Int): BigInt = ((BigInt(1) << (high - low + 1)) - 1) << low
  private val masks = Seq(
    bits(16, 14), // length, by a few bytes
    bits(27, 14), // length, by any number
    bits(3, 0), // type
    bits(13, 8), // flags
    bits(63, 52), // beats sent
    bits(95, 80), // credits, reserved bits
    bits(43, 28) | bits(79, 72), // SA, peer tag
    bits(95, 8) | bits(3, 0)
  )
  private val mask = VecInit(masks.map(_.U(LinkFrame.coveredBits.W)))(chance(9, 7))
  private val change = Cat(chance(63, 32), values) & mask
  private val check = LinkFrame.check(change(63, 0))
  private val checked = change(95, 8) ## check ## change(3, 0)
  private val crc = Crc.ieee.contribution(checked, LinkFrame.coveredBits)
  private val forges = io.enable && left === 0.U && packet && chance(6, 0) === 0.U

  private val forged = RegInit(0.U(32.W))
  when(io.in.fire && forges) { forged := forged + 1.U }
  io.forged := forged
  io.out.valid := io.in.valid
  io.in.ready := io.out.ready
  io.out.bits := io.in.bits ^ Mux(forges, crc ## checked, 0.U(LinkFrame.headerBits.W))
}
