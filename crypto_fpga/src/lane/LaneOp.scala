// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.crypto.suite.Suite

/**
 * What a step of a packet does with its block, one-hot. In this order:
 *
 *   - `head`: the associated data; the first one also makes E(K, J0) of GCM or the key of Poly1305,
 *     and starts the hash
 *   - `iv`: CBC's IV; made by encryption, or taken from the packet
 *   - `text`: through the cipher
 *   - `spill`: GMAC with a 64-bit number: the 4 bytes by which the hash lags behind the text
 *   - `end`: the block of lengths of GHASH; black to red also the first 16 bytes of the
 *     ICV received
 *   - `icv`: black to red: the ICV's second 16 bytes
 */
class Step extends Bundle {
  val icv = Bool()
  val end = Bool()
  val spill = Bool()
  val text = Bool()
  val iv = Bool()
  val head = Bool()
}

object Step {
  val kinds = 6

  /** The step that comes first of those in a set. */
  def first(set: UInt): Step = PriorityEncoderOH(set).asTypeOf(new Step)
}

/** One step, as it travels beside the cipher. */
class LaneOp(config: LaneConfig) extends Bundle {
  val slot = UInt(config.slotBits.W)
  val suite = UInt(Suite.laneBits.W)
  val step = new Step

  /** Number of the block among those of its kind. */
  val index = UInt(LaneOp.blockBits.W)

  /** Last block of text; then `bytes` of it belong to the text, 0 meaning 16. */
  val last = Bool()
  val bytes = UInt(4.W)

  /** GMAC with 64 bits of number: GHASH gets the text 4 bytes late. */
  val lags = Bool()

  /**
   * The number of the block in GHASH modulo 4, whether it is below 4, and blocks from this one on,
   * 5 for more.
   */
  val chain = UInt(2.W)
  val opens = Bool()
  val left = UInt(3.W)

  /** First step of the packet. */
  def first: Bool = step.head && index === 0.U
}

object LaneOp {

  /** Bits of a length in bytes, and of a number of blocks. */
  val lengthBits = 14
  val blockBits = 11
}

/**
 * A packet that begins: its keys and first bytes are there. Its [[LaneLength]] is in the same
 * cycle or follows.
 */
class LaneStart(config: LaneConfig) extends Bundle {
  val slot = UInt(config.slotBits.W)
  val suite = UInt(Suite.laneBits.W)

  /** Index into [[Suite.icvBytes]], for the suites whose row says it. */
  val icv = UInt(Suite.icvBits.W)

  /** The ICV covers the high half of the sequence number, bytes as on the wire. */
  val esn = Bool()
  val sequenceHigh = UInt(32.W)

  /** The packet's first beat, for the hashes. */
  val base = UInt(config.rowBits.W)
  val aadBytes = UInt(LaneOp.lengthBits.W)
}

/** The length of a packet, all of whose bytes can be fetched from now on. */
class LaneLength(config: LaneConfig) extends Bundle {
  val slot = UInt(config.slotBits.W)
  val textBytes = UInt(LaneOp.lengthBits.W)
}

/** A block of text that came out, zero beyond the end of the text. */
class LaneText(config: LaneConfig) extends Bundle {
  val op = new LaneOp(config)
  val block = UInt(128.W)
}
