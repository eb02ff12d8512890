// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta

/**
 * The number of the row in which the clear headers of a packet in transport mode wait while the
 * packet is in the lanes.
 *
 * It crosses them in [[sallyport.common.link.LinkMeta.df]], `tos` and bits of `peerTag`, whose
 * values wait in the row.
 */
object PrefixRow {

  /** As many packets of 250 bytes as come while one of 9000 is in a lane with SM3, and more. */
  val bits: Int = 12
  val count: Int = 1 << bits

  private val tagBits = bits - 9

  def apply(meta: LinkMeta): UInt = Cat(meta.peerTag(tagBits - 1, 0), meta.df, meta.tos)

  /** Gives `meta` the number of a row, or the fields that it stands in place of. */
  def put(meta: LinkMeta, row: UInt, from: LinkMeta): Unit = {
    meta.tos := row(7, 0)
    meta.df := row(8)
    meta.peerTag := Cat(from.peerTag >> tagBits, row(bits - 1, 9))
  }
}
