// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.headers

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder

/**
 * An Ethernet II header. Addresses hold their first wire byte in bits 7:0, as the register
 * PORT_MAC and next-hop rows do.
 */
class EthernetHeader extends Bundle {
  val destination = UInt(48.W)
  val source = UInt(48.W)
  val etherType = UInt(16.W)

  /** The 14 bytes of the header, byte 0 lowest. */
  def wire: UInt = WireOrder.pack(destination, source, WireOrder.bigEndian(etherType))
}

object EthernetHeader {
  val bytes: Int = 14

  /** With this many VLAN tags. */
  def bytesWith(tags: Int): Int = bytes + VlanTags.bytes * tags
  val maxBytes: Int = bytesWith(VlanTags.most)

  /** Lengths that it can have. */
  val lengths: Seq[Int] = (0 to VlanTags.most).map(bytesWith)

  /** Frame check sequence behind the frame, which the MAC adds and takes. */
  val fcsBytes: Int = 4
  val ipv4: Int = 0x0800
  val arp: Int = 0x0806
  val ipv6: Int = 0x86dd

  /** The type of an IP packet. */
  def ofIp(v6: Bool): UInt = Mux(v6, ipv6.U(16.W), ipv4.U(16.W))

  def apply(destination: UInt, source: UInt, etherType: UInt): EthernetHeader = {
    val header = Wire(new EthernetHeader)
    header.destination := destination
    header.source := source
    header.etherType := etherType
    header
  }
}

/** An IPv4 header without options (RFC 791 3.1), fields in wire order and as host-order numbers. */
class Ipv4Header extends Bundle {
  val tos = UInt(8.W)
  val totalLength = UInt(16.W)
  val identification = UInt(16.W)
  val dontFragment = Bool()
  val ttl = UInt(8.W)
  val protocol = UInt(8.W)
  val checksum = UInt(16.W)
  val source = UInt(32.W)
  val destination = UInt(32.W)

  /** The 20 bytes of the header, byte 0 lowest: version 4, IHL 5, fragment offset 0. */
  def wire: UInt = WireOrder.pack(
    0x45.U(8.W),
    tos,
    WireOrder.bigEndian(totalLength),
    WireOrder.bigEndian(identification),
    Cat(0.U(1.W), dontFragment, 0.U(6.W)),
    0.U(8.W),
    ttl,
    protocol,
    WireOrder.bigEndian(checksum),
    WireOrder.bigEndian(source),
    WireOrder.bigEndian(destination)
  )
}

object Ipv4Header {
  val bytes: Int = 20

  /** With options. */
  val maxBytes: Int = 60
  val protocolIcmp: Int = 1
}

object IpHeader {
  val tcp: Int = 6
  val esp: Int = 50

  /**
   * Protocol numbers of IP packets in others: next headers of the ESP trailer that mean a tunnel
   * (RFC 4303 2.6).
   */
  val v4InIp: Int = 4
  val v6InIp: Int = 41

  /** A dummy packet's, behind ESP (RFC 4303 2.6). */
  val noNextHeader: Int = 59
}

/** An IPv6 header (RFC 8200 section 3), fields in wire order and as host-order numbers. */
class Ipv6Header extends Bundle {
  val trafficClass = UInt(8.W)
  val flowLabel = UInt(20.W)
  val payloadLength = UInt(16.W)
  val nextHeader = UInt(8.W)
  val hopLimit = UInt(8.W)
  val source = UInt(128.W)
  val destination = UInt(128.W)

  /** The 40 bytes of the header, byte 0 lowest. */
  def wire: UInt = WireOrder.pack(
    WireOrder.bigEndian(Cat(6.U(4.W), trafficClass, flowLabel)),
    WireOrder.bigEndian(payloadLength),
    nextHeader,
    hopLimit,
    WireOrder.bigEndian(source),
    WireOrder.bigEndian(destination)
  )
}

object Ipv6Header {

  /** The fixed header. */
  val bytes: Int = 40
  val protocolIcmp: Int = 58

  /** ICMPv6 types of neighbour discovery (RFC 4861). */
  val neighbourTypes: Seq[Int] = 133 to 137

  /**
   * The mobility header (RFC 6275 6.1.1), to IPsec a next layer protocol (RFC 4301 4.4.1.1) and no
   * extension header.
   */
  val protocolMobility: Int = 135

  /** Next header: a fragment header. */
  val fragment: Int = 44
}

/** A UDP header in front of ESP (RFC 3948 2.1), fields in wire order and as host-order numbers. */
class UdpHeader extends Bundle {
  val sourcePort = UInt(16.W)
  val destinationPort = UInt(16.W)

  /** Bytes of this header and what follows it. */
  val length = UInt(16.W)

  /** 0: none, which IPv4 alone allows. */
  val checksum = UInt(16.W)

  /** The 8 bytes of the header, byte 0 lowest. */
  def wire: UInt = WireOrder.pack(
    WireOrder.bigEndian(sourcePort),
    WireOrder.bigEndian(destinationPort),
    WireOrder.bigEndian(length),
    WireOrder.bigEndian(checksum)
  )
}

object UdpHeader {
  val bytes: Int = 8
  val protocol: Int = 17

  /** IKE (RFC 7296 2). */
  val portIke: Int = 500

  /** IKE and ESP in UDP (RFC 7296 2.23). */
  val portNatt: Int = 4500
}
