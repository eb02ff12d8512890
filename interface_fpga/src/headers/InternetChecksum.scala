// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.headers

import chisel3._
import sallyport.common.arithmetic.{AdderTree, WireOrder}

/**
 * Internet checksum (RFC 1071) of `count` 16-bit words, the checksum's own left out or zero.
 *
 * A pipeline without stalls: `checksum` and `isZero` (the checksum is 0, which UDP writes as
 * 0xFFFF, RFC 768) belong to the `words`, host-order numbers as `checksum` is, of
 * [[InternetChecksum.latency]] cycles before.
 */
class InternetChecksum(count: Int) extends Module {
  val io = IO(new Bundle {
    val words = Input(Vec(count, UInt(16.W)))
    val checksum = Output(UInt(16.W))
    val isZero = Output(Bool())
  })

  private val total = AdderTree(io.words)
  private val folded = RegNext(total(15, 0) +& (total >> 16))
  io.checksum := RegNext(~(folded(15, 0) + folded(16)))
  io.isZero := RegNext(folded === 0xffff.U || folded === 0x1fffe.U)
}

object InternetChecksum {
  def latency(count: Int): Int = AdderTree.latency(count) + 2

  /** The 16-bit words that stand on the wire in `bytes`, byte 0 lowest. */
  def words(bytes: UInt): Seq[UInt] = (0 until bytes.getWidth by 16).map(n => WireOrder.bigEndian(bytes(n + 15, n)))
}
