// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.fragmentation

import chisel3._
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.{Ipv4Header, Ipv6Header}

/** How [[Fragmenter]] cuts a packet. */
class FragmentCut extends Bundle {

  /**
   * Payload of every fragment but the last, in units of 8 bytes (RFC 791 3.2, RFC 8200 4.5). 0:
   * the packet passes whole.
   */
  val units = UInt(FragmentCut.unitsBits.W)

  /** The packet is IPv6. */
  val v6 = Bool()

  /** Of IPv6: the fragment header's. IPv4 has one in its header. */
  val identification = UInt(32.W)
}

object FragmentCut {
  val unitsBits: Int = PacketStream.lengthBits - 3

  /** What a cut adds to an IPv6 packet. */
  val v6HeaderBytes: Int = 8

  /** Shortest MTUs that a packet may be cut for (RFC 791 3.2, RFC 8200 section 5). */
  val minMtuV4: Int = 68
  val minMtuV6: Int = 1280

  /** Payload units of a fragment under an MTU that is not below the shortest. */
  def units(mtu: UInt, v6: Bool): UInt =
    ((mtu - chisel3.util.Mux1H(
      Seq(v6 -> (Ipv6Header.bytes + v6HeaderBytes).U, !v6 -> Ipv4Header.bytes.U)
    )) >> 3)(unitsBits - 1, 0)

  /** The packet passes whole. */
  def none: FragmentCut = 0.U.asTypeOf(new FragmentCut)
}
