// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.Ipv6Header

/**
 * What [[HeaderParser]] reads of a fragment beside its [[HeaderFields]]; of no meaning unless
 * `fragment` is set there. Of more than one IPv6 fragment header that makes a packet a fragment,
 * the first.
 */
class FragmentFields extends Bundle {

  /** 16 bits of IPv4, 32 of IPv6. */
  val identification = UInt(32.W)

  /** In units of 8 bytes. */
  val offset = UInt(13.W)
  val more = Bool()

  /**
   * Bytes of the packet in front of the IPv4 payload, or of the IPv6 fragment header; at
   * most 118.
   */
  val headerBytes = UInt(7.W)

  /** Bytes behind the IPv4 header, or behind the IPv6 fragment header. */
  val payloadBytes = UInt(PacketStream.lengthBits.W)

  /**
   * IPv6: next header of the fragment header, and the byte of the packet where 44 stands
   * for it.
   */
  val nextHeader = UInt(8.W)
  val nextHeaderAt = UInt(7.W)
}

object FragmentFields {

  /** IPv6 header byte that has its next header. */
  private val nextHeaderByte: Int = 6

  /**
   * Of a packet and the end of the walk over its extension headers. No registers: a selection and
   * a sum.
   */
  def apply(packet: IpWindow, walk: ExtensionWalk): FragmentFields = {
    val words = packet.words
    val v6 = packet.etherClass === EtherClass.ipv6
    val header = (0 to 1).map { half =>
      val places = (0 until ExtensionStep.maxUnits).map(unit => words(Ipv6Header.bytes / 4 + 2 * unit + half))
      Mux1H(walk.fragmentAt(ExtensionStep.maxUnits - 1, 0), places)
    }
    def bytes(unit: UInt): UInt = Cat(OHToUInt(unit(ExtensionStep.maxUnits - 1, 0)), 0.U(3.W))
    val v4Bytes = Cat(words(0)(27, 24), 0.U(2.W))
    val behind = words(1)(31, 16) - ExtensionStep.unitBytes.U - bytes(walk.fragmentAt)
    val behind4 = words(0)(15, 0) - v4Bytes
    val fields = Wire(new FragmentFields)
    fields.identification := Mux(v6, header(1), words(1)(31, 16))
    fields.offset := Mux(v6, header(0)(15, 3), words(1)(12, 0))
    fields.more := Mux(v6, header(0)(0), words(1)(13))
    fields.headerBytes := packet.l2Bytes +
      Mux(v6, Ipv6Header.bytes.U(7.W) + bytes(walk.fragmentAt), v4Bytes)
    fields.payloadBytes := Mux(v6, behind, behind4)(PacketStream.lengthBits - 1, 0)
    fields.nextHeader := header(0)(31, 24)
    fields.nextHeaderAt := packet.l2Bytes +
      Mux(walk.fragmentAt(0), nextHeaderByte.U(7.W), Ipv6Header.bytes.U(7.W) + bytes(walk.beforeFragment))
    fields
  }
}
