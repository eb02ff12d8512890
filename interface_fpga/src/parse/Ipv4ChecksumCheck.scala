// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import sallyport.iface.headers.Ipv4Header

/**
 * Whether an IPv4 header's checksum is wrong, options included (RFC 1071, RFC 1122 3.2.1.2): the
 * sum of its 16-bit words has to be all ones.
 *
 * A pipeline without stalls: `bad` belongs to the `words` of [[Ipv4ChecksumCheck.latency]]
 * cycles before.
 */
class Ipv4ChecksumCheck extends Module {
  val io = IO(new Bundle {

    /** The header and what follows it, as far as the longest header reaches. */
    val words = Input(Vec(Ipv4Header.maxBytes / 4, UInt(32.W)))
    val bad = Output(Bool())
  })
  import Ipv4ChecksumCheck._

  // What follows the header is masked; then 30 halves → 10 → 4 → 2 → 1 sum, folded, compared.
  private val ihl = io.words(0)(27, 24)
  private val halves = io.words.zipWithIndex.flatMap { case (word, i) =>
    val kept = RegNext(if (i < Ipv4Header.bytes / 4) word else Mux(ihl > i.U, word, 0.U))
    Seq(kept(31, 16), kept(15, 0))
  }
  private def sums(values: Seq[UInt]): Seq[UInt] = values.grouped(3).map(group => RegNext(group.reduce(_ +& _))).toSeq
  private val total = Iterator.iterate[Seq[UInt]](halves)(sums).drop(sumStages).next().head
  private val folded = RegNext(total(15, 0) +& (total >> 16))
  io.bad := RegNext(folded =/= 0xffff.U)
}

object Ipv4ChecksumCheck {
  private val sumStages: Int = 4

  /** Mask, sums, fold, compare. */
  val latency: Int = 1 + sumStages + 2
}
