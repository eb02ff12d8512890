// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.stream.{PacketBeat, PacketStream}

/** Fields of an IP header that a router changes, with their new values. */
class IpRewrite extends Bundle {

  /** The packet does not begin with an IP header, or it stays as it is. */
  val none = Bool()

  /** The packet is IPv6. */
  val v6 = Bool()

  /** TOS or traffic class. */
  val tos = UInt(8.W)

  /** TTL or hop limit. */
  val ttl = UInt(8.W)

  /** Of IPv4. */
  val checksum = UInt(16.W)
}

/**
 * Connects two streams of IP packets with the same metadata and puts new values into the IP headers
 * on the way. No latency.
 */
object RewriteHeader {

  /** @param rewrite the values of a packet, from its metadata */
  def apply[M <: Data](
      to: DecoupledIO[PacketBeat[M]],
      from: DecoupledIO[PacketBeat[M]]
  )(rewrite: M => IpRewrite): Unit = {
    val first = RegInit(true.B)
    when(from.fire)(first := from.bits.last)
    val fields = rewrite(from.bits.meta)
    to <> from
    when(first && !fields.none)(to.bits.data := Mux(
      fields.v6,
      patchV6(from.bits.data, fields),
      patchV4(from.bits.data, fields)
    ))
  }

  private def keep(data: UInt, from: Int, until: Int): UInt = data(8 * until - 1, 8 * from)

  private def patchV4(data: UInt, fields: IpRewrite): UInt = WireOrder.pack(
    keep(data, 0, 1),
    fields.tos,
    keep(data, 2, 8),
    fields.ttl,
    keep(data, 9, 10),
    WireOrder.bigEndian(fields.checksum),
    keep(data, 12, PacketStream.dataBytes)
  )

  /** The traffic class lies across the first two bytes (RFC 8200 section 3). */
  private def patchV6(data: UInt, fields: IpRewrite): UInt = WireOrder.pack(
    Cat(data(7, 4), fields.tos(7, 4)),
    Cat(fields.tos(3, 0), data(11, 8)),
    keep(data, 2, 7),
    fields.ttl,
    keep(data, 8, PacketStream.dataBytes)
  )
}
