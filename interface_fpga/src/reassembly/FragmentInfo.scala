// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.experimental.dataview._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.iface.parse.{FragmentFields, HeaderFields}

/**
 * What a parser knows of a packet in front of a [[Reassembler]]. Numbers are in host order. Past
 * `fragment` nothing has a meaning unless it is set.
 *
 * The parser gives only sound packets as fragments: IPv4 header checksum and version right, all of
 * `headerBytes` and `payloadBytes` inside the packet, `headerBytes` even and at most 120. Other
 * packets pass as whole ones.
 */
class FragmentInfo extends FragmentFields {

  /** Bytes of the packet, with its link-layer header and padding. */
  val length = UInt(PacketStream.lengthBits.W)

  /**
   * IPv4: more fragments, or an offset that is not 0. IPv6: there is a fragment header (RFC
   * 8200 4.5).
   */
  val fragment = Bool()
  val ipv6 = Bool()

  /** An IPv4 address is in the low 32 bits, the others are 0. */
  val source = UInt(128.W)
  val destination = UInt(128.W)

  /** Part of what tells IPv4 datagrams apart (RFC 791 3.2); of no meaning for IPv6. */
  val protocol = UInt(8.W)

  /** Where the IP header begins. */
  val ipOffset = UInt(5.W)

  /** ECN field (RFC 3168 5). */
  val ecn = UInt(2.W)

  /** The first fragment of an IPv6 datagram, and not all headers are in it ([[HeaderChain]]). */
  val headless = Bool()

  /** Not a `fragment`, but a notice is made of this packet: it passes unchanged. */
  val notice = Bool()

  /** What tells datagrams apart: RFC 791 3.2, RFC 8200 4.5. */
  def key: UInt = Cat(ipv6, Mux(ipv6, 0.U, protocol), identification, destination, source)
}

object FragmentInfo {
  val keyBits: Int = 1 + 8 + 32 + 2 * 128

  /**
   * Of a frame that a parser has read; a fragment unless someone says otherwise, if it is one.
   * `headless` is left to the caller, and so is `notice`.
   */
  def apply(fields: HeaderFields, fragment: FragmentFields): FragmentInfo = {
    val info = Wire(new FragmentInfo)
    info.viewAsSupertype(new FragmentFields) := fragment
    info.length := fields.length
    info.fragment := fields.fragment
    info.ipv6 := fields.isV6
    info.source := fields.source
    info.destination := fields.destination
    info.protocol := fields.protocol
    info.ipOffset := fields.l2Bytes
    info.ecn := fields.tos(1, 0)
    info.headless := DontCare
    info.notice := DontCare
    info
  }
}

/** Metadata of what leaves a [[Reassembler]]. */
class ReassembledMeta extends Bundle {

  /** As it came in. */
  val notice = Bool()

  /** Bytes of the packet. */
  val length = UInt(PacketStream.lengthBits.W)

  /** It was made of fragments. */
  val reassembled = Bool()
}
