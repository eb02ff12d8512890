// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import sallyport.common.registers.map.FlowRow
import sallyport.common.stream.PacketStream

/** What the Ethernet type field says a frame carries, behind its VLAN tags. */
object EtherClass extends ChiselEnum {

  /**
   * `vlan`: more than two tags. `other`: every other type (MPLS among them) and IEEE 802.3
   * length fields.
   */
  val ipv4, arp, ipv6, vlan, other = Value
}

/**
 * The first bytes of a packet and its length: what [[HeaderParser]] looks at.
 *
 * @param windowBytes see [[HeaderParser.windowBytes]]
 */
class HeaderWindow(val windowBytes: Int) extends Bundle {

  /** Byte 0 in bits 7:0; bytes past the packet's end are zero. */
  val bytes = UInt((8 * windowBytes).W)

  /** Bytes of the whole packet. */
  val length = UInt(PacketStream.lengthBits.W)
}

/**
 * What [[HeaderParser]] found in one packet. Numbers are in host order.
 *
 * All fields past `l2Bytes` are meaningful only if `etherClass` is `ipv4` or `ipv6`, those past
 * `malformed` only if that is low, those past `unfinished` only if that is low too. Of ARP,
 * `destination` is the target's protocol address, if it is of IPv4 over Ethernet (RFC 826).
 */
class HeaderFields extends Bundle {

  /** Of IP packets alone: IPv6, not IPv4. */
  def isV6: Bool = etherClass === EtherClass.ipv6

  /**
   * Bytes of the packet as it was given to the parser (with its Ethernet header and padding if it
   * has them).
   */
  val length = UInt(PacketStream.lengthBits.W)

  /**
   * Destination address, first wire byte in bits 7:0 (bit 0: group address); 0 of a bare
   * IP packet.
   */
  val macDestination = UInt(48.W)

  /** The source address is a group address, which no station has; low of a bare IP packet. */
  val macFromGroup = Bool()

  /** Of a bare IP packet its version: `ipv6` if that is 6, else `ipv4`. */
  val etherClass = EtherClass()

  /** Bytes of the Ethernet header and its tags, 14, 18 or 22; 0 of a bare IP packet. */
  val l2Bytes = UInt(5.W)

  /**
   * Not a possible packet. IPv4 (RFC 791 3.1): version not 4, IHL below 5, total length below the
   * header's or beyond the packet's end. IPv6 (RFC 8200): version not 6, payload length beyond the
   * packet's end, an extension header beyond the payload's, hop-by-hop options elsewhere than
   * directly behind the fixed header (4.1).
   */
  val malformed = Bool()

  /** IPv6: more extension headers, or bytes of them, than the parser reads ([[ExtensionStep]]). */
  val unfinished = Bool()

  /** The header checksum, options included, is wrong (RFC 1122 3.2.1.2); IPv6 has none. */
  val checksumBad = Bool()

  /** IP header with options or extension headers. */
  val headerBytes = UInt(7.W)
  val totalLength = UInt(PacketStream.lengthBits.W)

  /** Bytes behind those `headerBytes`. */
  val payloadLength = UInt(PacketStream.lengthBits.W)

  /** TOS or traffic class. */
  val tos = UInt(8.W)

  /** TTL or hop limit. */
  val ttl = UInt(8.W)

  /** `ttl` is 0 or 1: not to be forwarded (RFC 1812 5.3.1, RFC 8200 3). */
  val ttlExpired = Bool()

  /** The IPv4 header's checksum field, for incremental update (RFC 1624). */
  val checksum = UInt(16.W)

  /** High of IPv6, which no router fragments. */
  val dontFragment = Bool()

  /**
   * More fragments, or an offset that is not 0. An IPv6 fragment header without either is a whole
   * packet (RFC 6946).
   */
  val fragment = Bool()

  /**
   * With `fragment`: its sender has to be told ([[FragmentNotice]]). Low from the parser, which
   * does not know the box's addresses.
   */
  val notice = Bool()

  /**
   * With `fragment`: what follows of the upper layer is what the first fragment of its datagram
   * says. Low from the parser, which knows one fragment alone.
   */
  val tracked = Bool()

  /**
   * IPv4 fragment of TCP at offset 1: from byte 8 of the TCP header on, its flags among them (RFC
   * 1858 4).
   */
  val overTcpFlags = Bool()

  /**
   * IPv4 protocol, or the next header behind the last extension header; of a later fragment that
   * behind its fragment header.
   */
  val protocol = UInt(8.W)

  /** An IPv4 address stands in bits 31:0 with zeros above it. */
  val source = UInt(128.W)
  val destination = UInt(128.W)

  /**
   * Network of the packet ([[sallyport.iface.inner.Networks]]). 0 from the parser, which knows one
   * alone.
   */
  val network = UInt(FlowRow.network.width.W)

  /** `destination` is a [[sallyport.iface.headers.GroupAddress]]. */
  val toGroup = Bool()

  /**
   * `sourcePort` and `destinationPort` were there to read: TCP, UDP or SCTP, offset 0, 4 bytes of
   * payload. Else both are 0.
   */
  val hasPorts = Bool()
  val sourcePort = UInt(16.W)
  val destinationPort = UInt(16.W)

  /**
   * `messageType` was there to read: ICMP in IPv4 or ICMPv6 in IPv6, with `messageCode`, or a
   * mobility header in IPv6 (RFC 6275 6.1.1), which has no code; offset 0, 4 bytes of payload. Else
   * both are 0.
   */
  val hasIcmp = Bool()
  val hasMobility = Bool()
  val messageType = UInt(8.W)
  val messageCode = UInt(8.W)

  /** What a UDP datagram to port 4500 carries; always `none` of a bare IP packet. */
  val udpEncap = UdpEncap()

  /**
   * Of UDP to port 500, or to port 4500 behind the non-ESP marker: [[IkeCookie]] says yes. Always
   * low of a bare IP packet; of no meaning of any other one.
   */
  val ikeCookie = Bool()

  /**
   * First 4 bytes of the payload, with `udpEncap` `esp` those behind the UDP header: of ESP the
   * SPI. Meaningful if `payloadLength` says that they are there.
   */
  val spi = UInt(32.W)

  /**
   * The 8 bytes behind those, first wire byte on top, whatever they are: of ESP the high half is
   * the number. With `udpEncap` `esp` the low half is 0. Always 0 of a bare IP packet.
   */
  val content = UInt(64.W)
}
