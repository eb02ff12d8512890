package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._

/** What the Ethernet type field says a frame carries. */
object EtherClass extends ChiselEnum {

  /** `vlan`: 0x8100, 0x88A8 or 0x9100. `other`: every other type (MPLS among them) and IEEE 802.3 length fields. */
  val ipv4, arp, ipv6, vlan, other = Value
}

/**
 * The first bytes of a packet and its length: what [[Ipv4Parser]] looks at.
 *
 * @param windowBytes 86 of an Ethernet frame (14 + the longest IPv4 header + 12), 64 of an IP packet
 */
class HeaderWindow(val windowBytes: Int) extends Bundle {

  /** Byte 0 in bits 7:0; bytes past the packet's end are zero. */
  val bytes = UInt((8 * windowBytes).W)

  /** Bytes of the whole packet. */
  val length = UInt(PacketStream.lengthBits.W)
}

/**
 * What [[Ipv4Parser]] found in one packet. Numbers are in host order.
 *
 * All fields past `etherClass` are meaningful only if it is `ipv4`, those past `checksumBad` only if `malformed` is low.
 */
class HeaderFields extends Bundle {

  /** Bytes of the packet as it was given to the parser (with its Ethernet header and padding if it has them). */
  val length = UInt(PacketStream.lengthBits.W)

  /** Destination address, first wire byte in bits 7:0 (bit 0: group address); 0 of a bare IP packet. */
  val macDestination = UInt(48.W)
  val etherClass = EtherClass()

  /**
   * Not a possible IPv4 header (RFC 791 3.1): version not 4, IHL below 5, total length below the header's or beyond the
   * packet's end.
   */
  val malformed = Bool()

  /** The header checksum, options included, is wrong (RFC 1122 3.2.1.2). */
  val checksumBad = Bool()

  val headerBytes = UInt(6.W)
  val totalLength = UInt(PacketStream.lengthBits.W)

  /** Bytes behind the IPv4 header and its options. */
  val payloadLength = UInt(PacketStream.lengthBits.W)
  val tos = UInt(8.W)
  val ttl = UInt(8.W)

  /** TTL is 0 or 1: not to be forwarded (RFC 1812 5.3.1). */
  val ttlExpired = Bool()

  /** The header's checksum field, for incremental update (RFC 1624). */
  val checksum = UInt(16.W)
  val dontFragment = Bool()

  /** More fragments, or an offset that is not 0. */
  val fragment = Bool()
  val protocol = UInt(8.W)
  val source = UInt(32.W)
  val destination = UInt(32.W)

  /** `sourcePort` and `destinationPort` were there to read: TCP, UDP or SCTP, offset 0, 4 bytes of payload. Else both are 0. */
  val hasPorts = Bool()
  val sourcePort = UInt(16.W)
  val destinationPort = UInt(16.W)

  /** What a UDP datagram to port 4500 carries; always `none` of a bare IP packet. */
  val udpEncap = UdpEncap()

  /**
   * First 4 bytes behind the header, with `udpEncap` `esp` those behind the UDP header: of ESP the SPI. Meaningful if
   * `payloadLength` says that they are there.
   */
  val spi = UInt(32.W)
}
