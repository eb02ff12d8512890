// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.headers

import chisel3._

/**
 * Incremental update of the IPv4 header checksum (RFC 1624, equation 3), in two halves for a
 * register between them.
 *
 * `HC' = ~(~HC + ~m + m')`. One less TTL makes `~m + m'` 0xFEFF; a change of the ECN field by d
 * adds d to that. Neither sum can be zero, so the result is never the 0xFFFF that a checksum
 * computed anew cannot be. Without a change of TTL `~m + m'` is d modulo 0xFFFF, and a right
 * checksum stays as it is.
 */
object ChecksumUpdate {

  /**
   * First half: TTL one less, TOS byte greater by `tosDelta` (-1 to 2, as the ECN rules of RFC
   * 6040 change it).
   */
  def sum(checksum: UInt, tosDelta: SInt): UInt =
    (~checksum).asUInt +& (0xfeff.S(18.W) + tosDelta).asUInt(15, 0)

  /** First half: TOS byte greater by `tosDelta`, as above, and the same TTL. */
  def sumOfTos(checksum: UInt, tosDelta: SInt): UInt = {
    val negative = tosDelta.head(1).asBool
    (~checksum).asUInt +& (tosDelta.pad(18) - negative.asUInt.zext).asUInt(15, 0)
  }

  /** First half: TTL one less. */
  def sum(checksum: UInt): UInt = (~checksum).asUInt +& 0xfeff.U(16.W)

  /** Second half: the new checksum of a 17-bit `sum`. */
  def fold(sum: UInt): UInt = (~(sum(15, 0) + sum(16))).asUInt
}
