package sallyport.iface

import chisel3._

/**
 * Internet checksum (RFC 1071) of a 20-byte IPv4 header whose checksum field is zero.
 *
 * A pipeline without stalls: `checksum` (a host-order number) belongs to the `header` (byte 0 lowest) of
 * [[HeaderChecksum.latency]] cycles before.
 */
class HeaderChecksum extends Module {
  val io = IO(new Bundle {
    val header = Input(UInt((8 * Ipv4Header.bytes).W))
    val checksum = Output(UInt(16.W))
  })

  private val words: Seq[UInt] =
    (0 until Ipv4Header.bytes by 2).map(n => WireOrder.bigEndian(io.header(8 * n + 15, 8 * n)))

  /** Sums of up to three, registered: one carry chain behind one LUT. */
  private def sums(values: Seq[UInt]): Seq[UInt] = values.grouped(3).map(group => RegNext(group.reduce(_ +& _))).toSeq

  private val total = Iterator.iterate(words)(sums).drop(HeaderChecksum.sumStages).next().head
  private val folded = RegNext(total(15, 0) +& (total >> 16))
  io.checksum := RegNext(~(folded(15, 0) + folded(16)))
}

object HeaderChecksum {

  /** 10 words → 4 → 2 → 1 sum. */
  private[iface] val sumStages: Int = 3
  val latency: Int = sumStages + 2
}
