// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import sallyport.common.arithmetic.Crc
import sallyport.common.stream.PacketStream

/**
 * Parameters of one end of a link.
 *
 * @param withSequenceTx packets sent carry the 64-bit sequence number (crypto to inner)
 * @param withSequenceRx packets received carry it
 * @param withSumRx packets received come with their [[PayloadSum]] (crypto to outer), which is
 *   not sent
 * @param bufferBeats 64-byte beats of the receive buffer, here and at the far end: the credits; a
 *   power of two
 * @param messages the link carries messages beside packets, at both ends or at neither
 */
case class LinkParams(
    withSequenceTx: Boolean = false,
    withSequenceRx: Boolean = false,
    withSumRx: Boolean = false,
    bufferBeats: Int = 512,
    messages: Boolean = false
) {
  require(!(withSequenceRx && withSumRx), "a packet's metadata has its sequence number or its sum")
  require(
    bufferBeats >= 256 && bufferBeats <= 2048 && (bufferBeats & (bufferBeats - 1)) == 0,
    s"a link buffer of $bufferBeats beats: make it 256 (a packet of 9600 B fits), 512, 1024 or 2048 (credits count modulo 4096)"
  )
}

object LinkFrame {
  val unitBits = 64
  val headerBits = 128

  /** Header without its CRC: what the CRC covers. */
  val coveredBits = 96
  val maxBytes = 9600
  val maxBeats: Int = maxBytes / PacketStream.dataBytes

  /**
   * Cycles without a word inside a frame after which a receiver gives it up: longer than any pause
   * of Aurora.
   */
  val silence = 24

  val idle = 0
  val packet = 1
  val credit = 2
  val request = 3
  val resync = 4
  val message = 5

  /** What a message carries. */
  val messageBits = 88

  /** The check of a first unit: CRC-4-ITU over bits 3:0 and 63:8. */
  def check(firstUnit: UInt): UInt = Crc.itu4.contribution(chisel3.util.Cat(firstUnit(63, 8), firstUnit(3, 0)), 60)

  /** Started 64-byte beats of a payload. */
  def beats(length: UInt): UInt = (length +& 63.U) >> 6
}

/** Header of types packet and credit (docs/reference/link.md), highest bits first. */
class LinkHeader extends Bundle {
  val crc = UInt(32.W)
  val reserved = UInt(4.W)
  val freed = UInt(12.W)
  val peerTag = UInt(8.W)
  val nextHeader = UInt(8.W)
  val sent = UInt(12.W)
  val tos = UInt(8.W)
  val sa = UInt(16.W)
  val length = UInt(14.W)
  val fresh = Bool()
  val locked = Bool()
  val df = Bool()
  val moved = Bool()
  val transport = Bool()
  val bypass = Bool()
  val check = UInt(4.W)
  val kind = UInt(4.W)
}

/** Header of types request and resync. */
class ResyncHeader extends Bundle {
  val crc = UInt(32.W)
  val packets = UInt(32.W)
  val nonce = UInt(32.W)
  val epoch = UInt(12.W)
  val sent = UInt(12.W)
  val check = UInt(4.W)
  val kind = UInt(4.W)
}
