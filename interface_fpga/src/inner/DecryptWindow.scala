// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.{EthernetHeader, Ipv6Header, VlanTags}
import sallyport.iface.parse.{HeaderFields, HeaderParser, HeaderWindow}
import sallyport.iface.stream.LookupLaunch

/**
 * What the parser sees of a packet to the red network: from the IP header on, and in transport mode
 * with the length and the protocol that the packet had before ESP (RFC 4303 3.1.1). The checksum is
 * not that packet's.
 */
object DecryptWindow {

  /**
   * Two beats. A third would keep long packets waiting, and is wanted by frames alone that have two
   * VLAN tags and all the IPv6 extension headers that the parser reads ([[seen]]).
   */
  val windowBytes: Int = 2 * PacketStream.dataBytes

  private val parsedBytes = HeaderParser.windowBytes(ethernet = false)

  def apply(launch: LookupLaunch[LinkMeta]): HeaderWindow = {
    val meta = launch.meta
    val linkBytes = ClearPrefix.linkBytes(meta.tos)
    val window = Wire(new HeaderWindow(parsedBytes))
    window.length := Mux(meta.transport, meta.length - linkBytes, meta.length)
    val starts = (0 to VlanTags.most).map { tags =>
      (meta.transport && ClearPrefix.tags(meta.tos) === tags.U) -> EthernetHeader.bytesWith(tags)
    } :+ (!meta.transport -> 0)
    val bytes = VecInit.tabulate(parsedBytes)(i =>
      Mux1H(starts.map { case (here, start) =>
        here -> (if (start + i < windowBytes) launch.bytes(8 * (start + i) + 7, 8 * (start + i)) else 0.U(8.W))
      })
    )
    val patched = WireDefault(bytes)
    val v6 = bytes(0)(7, 4) === 6.U
    def put(offset: Int, value: UInt): Unit =
      for (i <- 0 until value.getWidth / 8) patched(offset + i) := value(8 * i + 7, 8 * i)
    when(meta.hasPrefix && v6) {
      put(4, WireOrder.bigEndian((window.length - Ipv6Header.bytes.U).pad(16)))
      put(6, meta.nextHeader)
    }.elsewhen(meta.hasPrefix) {
      put(2, WireOrder.bigEndian(window.length.pad(16)))
      put(9, meta.nextHeader)
    }
    window.bytes := patched.asUInt
    window
  }

  /**
   * The fields without any bytes behind the window: ports there, and the type of a mobility header,
   * were not read, and are OPAQUE (RFC 4301 4.4.1.1). Type and code of ICMP are always within it.
   */
  def seen(fields: HeaderFields, meta: LinkMeta): HeaderFields = {
    val behind = VecInit((0 to VlanTags.most).map { tags =>
      ClearPrefix.tags(meta.tos) === tags.U &&
      fields.headerBytes > (windowBytes - upperBytes - EthernetHeader.bytesWith(tags)).U
    }).asUInt.orR
    val result = WireDefault(fields)
    when(meta.transport && behind) {
      when(fields.hasMobility) { result.messageType := 0.U }
      result.hasMobility := false.B
      result.hasPorts := false.B
      result.sourcePort := 0.U
      result.destinationPort := 0.U
    }
    result
  }

  /** Of both ports, or as far as the type of a mobility header reaches. */
  private val upperBytes = 4
}
