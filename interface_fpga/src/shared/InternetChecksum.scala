package sallyport.iface

import chisel3._
import chisel3.util._

/**
 * Internet checksum (RFC 1071) of `count` 16-bit words, the checksum's own left out or zero.
 *
 * A pipeline without stalls: `checksum` and `isZero` (the checksum is 0, which UDP writes as 0xFFFF, RFC 768) belong to the `words`,
 * host-order numbers as `checksum` is, of [[InternetChecksum.latency]] cycles before.
 */
class InternetChecksum(count: Int) extends Module {
  val io = IO(new Bundle {
    val words = Input(Vec(count, UInt(16.W)))
    val checksum = Output(UInt(16.W))
    val isZero = Output(Bool())
  })

  /** Sums of up to three, registered: one carry chain behind one LUT. */
  private def sums(values: Seq[UInt]): Seq[UInt] = values.grouped(3).map(group => RegNext(group.reduce(_ +& _))).toSeq

  private val total = Iterator.iterate[Seq[UInt]](io.words)(sums).drop(InternetChecksum.sumStages(count)).next().head
  private val folded = RegNext(total(15, 0) +& (total >> 16))
  io.checksum := RegNext(~(folded(15, 0) + folded(16)))
  io.isZero := RegNext(folded === 0xffff.U || folded === 0x1fffe.U)
}

object InternetChecksum {

  /** Steps from `count` words to one sum. */
  private[iface] def sumStages(count: Int): Int = if (count == 1) 0 else 1 + sumStages((count + 2) / 3)
  def latency(count: Int): Int = sumStages(count) + 2

  /** The 16-bit words that stand on the wire in `bytes`, byte 0 lowest. */
  def words(bytes: UInt): Seq[UInt] = (0 until bytes.getWidth by 16).map(n => WireOrder.bigEndian(bytes(n + 15, n)))
}
