package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._

/** Fields of an IPv4 header that a router changes, with their new values. */
class Ipv4Rewrite extends Bundle {
  val tos = UInt(8.W)
  val ttl = UInt(8.W)
  val checksum = UInt(16.W)
}

/** Connects two packet streams of the same metadata and puts new values into the IPv4 header on the way. No latency. */
object RewriteHeader {

  /**
   * @param offset  byte of a packet at which its IPv4 header starts
   * @param rewrite the values of a packet, from its metadata
   */
  def apply[M <: Data](to: DecoupledIO[PacketBeat[M]], from: DecoupledIO[PacketBeat[M]], offset: Int)(
      rewrite: M => Ipv4Rewrite
  ): Unit = {
    require(
      offset + Ipv4Header.bytes <= PacketStream.dataBytes,
      s"an IPv4 header at byte $offset leaves the first beat"
    )
    val first = RegInit(true.B)
    when(from.fire)(first := from.bits.last)
    val fields = rewrite(from.bits.meta)
    to <> from
    when(first)(to.bits.data := patch(from.bits.data, offset, fields))
  }

  private def patch(data: UInt, offset: Int, fields: Ipv4Rewrite): UInt = {
    def keep(from: Int, until: Int): UInt = data(8 * until - 1, 8 * from)
    WireOrder.pack(
      keep(0, offset + 1),
      fields.tos,
      keep(offset + 2, offset + 8),
      fields.ttl,
      keep(offset + 9, offset + 10),
      WireOrder.bigEndian(fields.checksum),
      keep(offset + 12, PacketStream.dataBytes)
    )
  }
}
