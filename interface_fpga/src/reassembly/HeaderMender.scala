// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import sallyport.common.stream.{ConnectStream, PacketStream}

/**
 * Mends the IP header of packets that were put together. IPv4: total length, no flags, no offset,
 * checksum; the checksum is the sum over the whole header, since what the first fragment brought
 * was right (RFC 1624). IPv6: payload length; next header was mended when the fragment came. Both:
 * the ECN field, which becomes CE where congestion was met.
 *
 * Combinational, in the first beat alone: every byte that is mended lies in it.
 */
class HeaderMender(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new ReplayMeta(p)))
    val out = PacketStream(new ReassembledMeta)
  })

  private val first = RegInit(true.B)
  when(io.in.fire) { first := io.in.bits.last }

  private val meta = io.in.bits.meta
  private val mending = meta.mending
  private def high(value: UInt): UInt = value(15, 8)
  private def low(value: UInt): UInt = value(7, 0)

  private def as(value: UInt): UInt => UInt = _ => value
  private def congested(shift: Int): UInt => UInt =
    old => old | Cat(Fill(2, mending.congested), 0.U(shift.W))

  /** Bytes of the IP header that change, and what they become. */
  private val ipv4 = Map(
    1 -> congested(0),
    2 -> as(high(mending.lengthField)),
    3 -> as(low(mending.lengthField)),
    6 -> as(0.U(8.W)),
    7 -> as(0.U(8.W)),
    10 -> as(high(mending.checksum)),
    11 -> as(low(mending.checksum))
  )
  // The traffic class begins 4 bits behind the version.
  private val ipv6 = Map(
    1 -> congested(4),
    4 -> as(high(mending.lengthField)),
    5 -> as(low(mending.lengthField))
  )
  private val bytes = VecInit.tabulate(PacketStream.dataBytes) { n =>
    val old = io.in.bits.data(8 * n + 7, 8 * n)
    val changes = for {
      (offset, select) <- p.ipOffsets.zipWithIndex
      (values, six) <- Seq((ipv4, false.B), (ipv6, true.B))
      value <- values.get(n - offset)
    } yield (first && mending.ipSelect === select.U && mending.ipv6 === six) -> value(old)
    MuxCase(old, changes)
  }

  ConnectStream(io.out, io.in) { (to, from) =>
    to.notice := false.B
    to.length := from.length
    to.reassembled := true.B
  }
  io.out.bits.data := bytes.asUInt
}
