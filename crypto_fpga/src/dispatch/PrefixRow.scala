// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta

/**
 * The number of the row in which the clear headers of a packet in transport mode wait while the
 * packet is in the lanes.
 *
 * It crosses them in [[sallyport.common.link.LinkMeta.df]] and `tos`, whose values wait in the row.
 */
object PrefixRow {

  /** As many packets as four lanes hold. */
  val bits: Int = 9
  val count: Int = 1 << bits

  def apply(meta: LinkMeta): UInt = Cat(meta.df, meta.tos)
}
