package sallyport.common.link

import chisel3._
import sallyport.common.stream.PacketStream

/**
 * What crosses the link beside a packet (ARCHITECTURE section 4): the link header's fields that are not the link's own.
 *
 * Encrypt, inner → crypto: an inner IP packet. crypto → outer: the ESP packet from its SPI to its ICV (or a bypassed IP
 * packet). Decrypt, outer → crypto: the ESP packet. crypto → inner: the decrypted IP packet.
 *
 * With `transport` the Ethernet and IP header stand in front of each of these: of a bypassed packet they are part of the whole frame,
 * any other's are its [[ClearPrefix]], and its IP header still has the values with which it came.
 */
class LinkMeta extends Bundle {

  /** Bytes of the packet, 1 to 9600. */
  val length = UInt(PacketStream.lengthBits.W)

  /** SA index of this direction; for a bypassed packet the next-hop index. */
  val sa = UInt(16.W)

  /** The packet crosses in clear under a BYPASS policy. */
  val bypass = Bool()

  /** The packet is a frame of a bump in the wire. */
  val transport = Bool()

  /**
   * Decrypt: ESP in UDP from elsewhere than its SA's packets are expected from, with `skip` for the place in which the outer chip
   * keeps where that is. The inner chip reports it, once the packet is known to be authentic.
   */
  val moved = Bool()

  /** Inner header's DF (encrypt). Of the crypto chip's own use like `tos` below. */
  val df = Bool()

  /**
   * Encrypt: TOS byte of the inner header. Decrypt: TOS byte of the outer header. With `transport` the headers' lengths as
   * [[ClearPrefix]] has them; between the prefix store and the lanes of the crypto chip it names, with `df`, the store's row.
   */
  val tos = UInt(8.W)

  /** Encrypt: next header for the ESP trailer (in tunnel mode 4 for IPv4, 41 for IPv6; of a bypassed packet too). Decrypt, crypto → inner: from the trailer. */
  val nextHeader = UInt(8.W)

  /** Encrypt: sequence numbers the crypto chip is asked to skip first (cluster mode). Decrypt: 0, or with `moved` a place and its round. */
  val skip = UInt(8.W)

  /**
   * crypto → inner: the verified 64-bit sequence number. At the outer chip's receiver of encrypt: the packet's [[PayloadSum]], which
   * is not sent. Elsewhere 0 and not sent.
   */
  val sequence = UInt(64.W)

  def payloadSum: UInt = sequence(PayloadSum.bits - 1, 0)

  /** What ESP has to do with begins behind a [[ClearPrefix]]. */
  def hasPrefix: Bool = transport && !bypass
}
