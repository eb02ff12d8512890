// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.iface.headers.{IpHeader, Ipv4Header, Ipv6Header, UdpHeader}

/**
 * Whether the first fragment of an IPv6 datagram has all headers up to that of the upper layer, as
 * it must (RFC 8200 4.5, RFC 7112 5). So no module downstream has to judge a packet whose ports
 * came later.
 *
 * A fragment that is not the last, and each extension header, is a multiple of 8 bytes: the bytes
 * behind the extension headers are counted in such units. So 4 bytes, which every ICMPv6 message
 * has (RFC 4443 2.1), ask the same as the 8 of the shortest one. TCP is asked for its header
 * without options, AH for the part that every one has (RFC 4302 2), a packet in the packet for its
 * fixed header. Any other protocol passes: the length of its header is unknown.
 *
 * Extension headers that are not whole make the packet malformed, or `unfinished`, before this is
 * asked ([[HeaderFields]]).
 */
object HeaderChain {

  /**
   * Bytes of upper-layer headers by their protocol: IPv4, TCP, UDP, IPv6, ESP, AH,
   * ICMPv6, SCTP.
   */
  private val headers: Seq[(Int, Int)] = Seq(
    4 -> Ipv4Header.bytes,
    6 -> 20,
    UdpHeader.protocol -> UdpHeader.bytes,
    41 -> Ipv6Header.bytes,
    IpHeader.esp -> 8,
    51 -> 12,
    Ipv6Header.protocolIcmp -> 4,
    132 -> 12
  )
  private val unit: Int = ExtensionStep.unitBytes
  private val unitBits: Int = log2Ceil(Ipv6Header.bytes / unit + 1)

  /** Cycles from the fields to the answer. */
  val latency: Int = 2

  /** Of a fragment: it is the first of an IPv6 datagram, and a header is not whole. */
  def incomplete(fields: HeaderFields, fragment: FragmentFields): Bool = {
    val least = RegNext(Mux1H(headers.map { case (protocol, bytes) =>
      (fields.protocol === protocol.U) -> ((bytes + unit - 1) / unit).U(unitBits.W)
    }))
    val units = RegNext(fields.payloadLength >> log2Ceil(unit))
    val first = RegNext(fields.isV6 && fragment.offset === 0.U)
    RegNext(first && units < least)
  }
}
