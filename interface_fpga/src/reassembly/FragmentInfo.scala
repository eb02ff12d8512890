package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._

/**
 * What a parser knows of a packet in front of a [[Reassembler]]. Numbers are in host order. Past `fragment` nothing has
 * a meaning unless it is set.
 *
 * The parser gives as fragments only what is sound: IPv4 header checksum and version right, all of `headerBytes` and
 * `payloadBytes` inside the packet, `headerBytes` at most 120. What is not it drops or punts under names of its own.
 */
class FragmentInfo extends Bundle {

  /** Bytes of the packet, with its link-layer header and padding. */
  val length = UInt(PacketStream.lengthBits.W)

  /** IPv4: more fragments, or an offset that is not 0. IPv6: there is a fragment header (RFC 8200 4.5). */
  val fragment = Bool()
  val ipv6 = Bool()

  /** An IPv4 address is in the low 32 bits, the others are 0. */
  val source = UInt(128.W)
  val destination = UInt(128.W)

  /** 16 bits of IPv4, 32 of IPv6. */
  val identification = UInt(32.W)

  /** Part of what tells IPv4 datagrams apart (RFC 791 3.2); of no meaning for IPv6. */
  val protocol = UInt(8.W)

  /** In units of 8 bytes. */
  val offset = UInt(13.W)
  val more = Bool()

  /** Where the IP header begins. */
  val ipOffset = UInt(5.W)

  /** Bytes in front of the IPv4 payload, or of the IPv6 fragment header; even. */
  val headerBytes = UInt(7.W)

  /** Bytes behind the IPv4 header, or behind the IPv6 fragment header. */
  val payloadBytes = UInt(PacketStream.lengthBits.W)

  /**
   * IPv6: next header of the fragment header, and the byte of the packet that it takes the place of (where 44 stands).
   */
  val nextHeader = UInt(8.W)
  val nextHeaderAt = UInt(7.W)

  /** What tells datagrams apart: RFC 791 3.2, RFC 8200 4.5. */
  def key: UInt = Cat(ipv6, Mux(ipv6, 0.U, protocol), identification, destination, source)
}

object FragmentInfo {
  val keyBits: Int = 1 + 8 + 32 + 2 * 128

  /** Bytes of the IPv6 header and of the fragment header behind it. */
  val ipv6Bytes: Int = 40
  val fragmentHeaderBytes: Int = 8
}

/** Metadata of what leaves a [[Reassembler]]. */
class ReassembledMeta extends Bundle {

  /** Bytes of the packet. */
  val length = UInt(PacketStream.lengthBits.W)

  /** It was made of fragments. */
  val reassembled = Bool()
}
