// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import sallyport.common.stream.PacketStream

/**
 * The metadata of a packet on a link: the fields of the link header that describe the packet
 * (docs/reference/link.md).
 *
 * | direction | from → to      | packet                                              |
 * |-----------|----------------|-----------------------------------------------------|
 * | encrypt   | inner → crypto | an IP packet                                        |
 * | encrypt   | crypto → outer | its ESP packet, SPI to ICV, or a bypassed IP packet |
 * | decrypt   | outer → crypto | an ESP packet, SPI to ICV, or a bypassed IP packet  |
 * | decrypt   | crypto → inner | its decrypted IP packet, or a bypassed IP packet    |
 *
 * With `transport` the packet has its Ethernet and IP headers in front. A bypassed packet is then
 * the whole frame. The headers of any other packet are its [[ClearPrefix]]; the IP header keeps the
 * values with which it arrived.
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
   * Decrypt: ESP in UDP whose source is not the peer in the SA's row. The outer chip keeps that
   * source in the place that `peerTag` names. The inner chip reports the place if the packet is
   * authentic. Encrypt: low.
   */
  val moved = Bool()

  /** Encrypt: DF of the inner header. Inside the crypto chip see `tos`. */
  val df = Bool()

  /**
   * Encrypt: TOS byte of the inner header. Decrypt: TOS byte of the outer header. With `transport`
   * the lengths of the headers, coded by [[ClearPrefix]]. Inside the crypto chip `df`, `tos` and
   * bits of `peerTag` together hold the row of the prefix store.
   */
  val tos = UInt(8.W)

  /**
   * Encrypt, inner → crypto: next header for the ESP trailer. In tunnel mode, and for a bypassed
   * packet, 4 for IPv4 and 41 for IPv6. Encrypt, crypto → outer: the same of a bypassed
   * packet, else
   * 0. Decrypt, crypto → inner: next header of the ESP trailer.
   */
  val nextHeader = UInt(8.W)

  /** Decrypt: a [[PeerTag]] with `moved`, else 0. Encrypt: 0. */
  val peerTag = UInt(8.W)

  /**
   * crypto → inner: the verified 64-bit sequence number. The receiver of the outer chip puts the
   * packet's [[PayloadSum]] here, which the link does not carry. Elsewhere 0, and the link does not
   * carry it.
   */
  val sequence = UInt(64.W)

  def payloadSum: UInt = sequence(PayloadSum.bits - 1, 0)

  /** A [[ClearPrefix]] is in front of the bytes that ESP protects. */
  def hasPrefix: Bool = transport && !bypass
}
