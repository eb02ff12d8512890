// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.headers

import chisel3._

/**
 * Explicit congestion notification: at the end of a tunnel (RFC 6040 section 4.2, figure 4), and
 * of fragments (RFC 3168 5.3).
 */
object Ecn {
  val notEct: Int = 0
  val ect1: Int = 1
  val ect0: Int = 2
  val ce: Int = 3
  val codepoints: Int = 4

  /** The packet has to be dropped: congestion was met and its sender does not know ECN. */
  def drops(inner: UInt, outer: UInt): Bool = inner === notEct.U && outer === ce.U

  /** ECN field of the packet that goes on. */
  def decapsulate(inner: UInt, outer: UInt): UInt =
    Mux(
      inner === notEct.U || inner === ce.U,
      inner,
      Mux(outer === ce.U, ce.U, Mux(outer === ect1.U, ect1.U, inner))
    )

  /**
   * Combinations that figure 4 marks as currently unused, without those that are dropped. No
   * tunnel makes such headers.
   */
  def unexpected(inner: UInt, outer: UInt): Bool =
    inner === notEct.U && (outer === ect0.U || outer === ect1.U) ||
      inner === ect1.U && outer === ect0.U || inner === ce.U && outer === ect1.U

  /**
   * Of fragments, a bit a codepoint that one of them has: the datagram has CE, if it is
   * not dropped.
   */
  def congested(seen: UInt): Bool = seen(ce)

  /**
   * The same: some are Not-ECT and others are not, which no sender makes; the datagram has to
   * be dropped.
   */
  def mixed(seen: UInt): Bool = seen(notEct) && seen(codepoints - 1, notEct + 1).orR
}
