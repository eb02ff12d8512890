// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tracking

import chisel3._

/**
 * What happened in one cycle to fragments on their way to a verdict, counted in frames. Those that
 * came are those that went on, those dropped, and the sum of `held`.
 */
class TrackingEvents extends Bundle {

  /** No room in a queue: they come faster than they can be judged. */
  val dropOverflow = UInt(2.W)

  /**
   * Empty, not the last of its datagram and no multiple of 8 bytes long, or beyond the longest
   * packet (RFC 791 3.1, RFC 8200 4.5).
   */
  val dropLength = Bool()

  /** First of an IPv6 datagram, without all headers up to that of the upper layer (RFC 7112). */
  val dropHeaders = Bool()

  /** Another first fragment of its datagram said otherwise. */
  val dropConflict = Bool()

  /** Lies over the fields that policies look at. */
  val dropOverlap = Bool()

  /** The first fragment did not come in time. */
  val dropOrphan = Bool()

  /** No room to wait for the first fragment. */
  val dropFull = UInt(2.W)

  /** How many more wait than before. */
  val held = SInt(4.W)
}
