// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._

/**
 * Why fragments are dropped once they have left the queue; the order in which the reasons
 * are tried.
 */
object FragmentDrop extends ChiselEnum {
  val length, headers, source, oversize, memory, end, duplicate, ecn, overlap, full, timeout = Value
}

/** Frames that were dropped in one cycle, all for one reason. */
class DroppedFragments extends Bundle {

  /** A [[FragmentDrop]]. */
  val reason = UInt(FragmentDrop.getWidth.W)
  val frames = UInt(ReassemblyEvents.frameBits.W)
}

/**
 * What happened to fragments in one cycle, counted in frames: those taken in are those `merged`,
 * those dropped, a frame of each datagram `reassembled`, and the sum of `held`.
 */
class ReassemblyEvents extends Bundle {
  private def frames = UInt(ReassemblyEvents.frameBits.W)

  /** A datagram is whole and leaves as one packet. */
  val reassembled = Bool()

  /** With `reassembled`: its fragments but one. */
  val merged = frames

  /** How many more fragments are held than before; of a datagram that leaves, all fewer. */
  val held = SInt((ReassemblyEvents.frameBits + 1).W)

  /** No room in the queue of fragments: they come faster than they can be put together. */
  val dropOverflow = Bool()

  /** Empty, or not the last of its datagram and no multiple of 8 bytes long (RFC 8200 4.5). */
  val dropLength = frames

  /**
   * First of an IPv6 datagram, without all headers up to that of the upper layer (RFC 8200 4.5,
   * RFC 7112).
   */
  val dropHeaders = frames

  /** The datagram was the oldest, or in the way, when there was no room for another one. */
  val dropFull = frames

  /** Of a new datagram of a source that has as many as it may. */
  val dropSource = frames

  /** Fills just the bytes that one fragment of its datagram filled before. */
  val dropDuplicate = frames

  /** The datagram is longer than a packet may be. */
  val dropOversize = frames

  /** There was no memory for the datagram. */
  val dropMemory = frames

  /** Two fragments of the datagram end it in different places, or one lies behind its end. */
  val dropEnd = frames

  /** Some fragments of the datagram are Not-ECT, others are not (RFC 3168 5.3). */
  val dropEcn = frames

  /** Two fragments of the datagram hold the same byte, and are not the same (RFC 5722). */
  val dropOverlap = frames

  /** The datagram was not whole in time. */
  val dropTimeout = frames
}

object ReassemblyEvents {

  /** A datagram's fragments: at most 1200 of 8 bytes. */
  val frameBits: Int = 11
}
