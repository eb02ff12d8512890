// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import sallyport.common.link.LinkMeta
import sallyport.common.stream.PacketStream
import sallyport.crypto.suite.Suite

/**
 * Everything a lane needs to know of a packet beside its bytes.
 *
 * Fields that are byte strings (`key`, `auth`, `salt`) have byte 0 in bits 7:0, as the key rows
 * have. Fields that are numbers (`spi`, `sequence`, `iv`) are big-endian on the wire; the lane
 * turns them.
 */
class LaneJob extends Bundle {
  val suite = UInt(Suite.laneBits.W)

  /** Length of the ICV, where the suite leaves it to the row: index into [[Suite.icvBytes]]. */
  val icv = UInt(Suite.icvBits.W)

  /** Cipher key. CBC from black to red: what [[CipherBlock.key]] and [[Sm4Pipe]] start from. */
  val key = UInt(256.W)

  /**
   * GHASH: H, H², H³, H⁴ in 128 bits each. HMAC: the states behind the inner and the outer key
   * block, 256 bits each.
   */
  val auth = UInt(512.W)

  /** The nonce's first four bytes (RFC 4106, RFC 3686, RFC 7634). */
  val salt = UInt(32.W)

  /**
   * The ICV covers all 64 bits of the sequence number (RFC 4303 section 2.2.1, RFC 4106
   * section 5).
   */
  val esn = Bool()

  /**
   * Encrypt: the packet's number. Decrypt: the inferred number; the lane uses its high half alone,
   * under `esn`.
   */
  val sequence = UInt(64.W)

  /**
   * Encrypt only: the explicit IV, or what CBC's IV is made of by encrypting it. Decrypt: the lane
   * takes it from the packet.
   */
  val iv = UInt(64.W)

  /** Encrypt only. Decrypt: the lane takes it from the packet. */
  val spi = UInt(32.W)

  /**
   * Passed through to the result; see [[LaneResult.meta]]. Encrypt reads `nextHeader` for
   * the trailer.
   */
  val meta = new LinkMeta
}

/** How a packet left a lane. An encrypting lane gives `ok` and `zeroized` only. */
object Verdict extends ChiselEnum {

  /** Encrypted, or authentic and well formed. */
  val ok = Value

  /**
   * The 16 bytes of the ICV do not all match. Takes precedence over the padding, which must not be
   * judged then.
   */
  val badIcv = Value

  /** Authentic, but the pad bytes are not 1, 2, 3 … (RFC 4303 section 2.4). */
  val badPadding = Value

  /**
   * Shorter than ESP header, IV, trailer and ICV, or not a multiple of 4 bytes, or authentic with a
   * pad length beyond the payload, or the input beat said `error`.
   */
  val truncated = Value

  /**
   * Authentic, with nothing to deliver: next header 59 (RFC 4303 section 2.6), or a payload of
   * no bytes.
   */
  val dummy = Value

  /** Its keys were zeroized while it was in the lane. */
  val zeroized = Value

  /** Never a lane's: it has failed ([[sallyport.crypto.selftest.LaneGuard]]). */
  val laneFailed = Value
}

/** Metadata of a lane's output. */
class LaneResult extends Bundle {
  val verdict = Verdict()

  /**
   * The job's `meta`; if the verdict is `ok`, with `length` (both directions) and `nextHeader`
   * (decrypt: from the trailer) replaced.
   */
  val meta = new LinkMeta
}

/**
 * Ports of a [[Lane]] at the near end of its [[LaneWay]]; both streams obey the rule at
 * [[sallyport.common.stream.PacketBeat]].
 *
 * A packet may be chosen for the lane while `room` is high for its class (index 0 slow, 1 fast;
 * [[Suite.fast]]), none in the two cycles behind another one; then there is room for all of it. It
 * may wait at `in`, which is ready but while beats that the lane could not write yet pile up, and
 * for two cycles behind the first beat of a slow packet. A packet that has entered is finished on
 * its own; when `offer` of its class is high, `grant` of that class lets the oldest packet of the
 * class out. Packets leave in the order of grants, each exactly once, with its verdict. A packet
 * whose verdict is not `ok` comes out as exactly one beat with `data` 0, `bytes` 1, `last` and
 * `error`: nothing of its bytes leaves.
 *
 * No more than [[LanePorts.grants]] packets may be granted and not yet out.
 *
 * `in.bits.meta.meta.length` is not relied on: the lane counts the bytes that come in.
 *
 * `zeroize`, a pulse or a level: every packet that has begun to enter the lane and not begun to
 * leave it comes out as `zeroized`, and so does each that begins to enter within
 * [[LanePorts.wipeCycles]], until which key material is wiped from memories and pipes. A packet
 * whose output has begun is finished, and so is one that was granted and stands next behind it.
 */
class LanePorts extends Bundle {
  val in = Flipped(PacketStream(new LaneJob))
  val room = Output(Vec(2, Bool()))
  val offer = Output(Vec(2, Bool()))
  val grant = Input(Vec(2, Bool()))
  val out = PacketStream(new LaneResult)
  val zeroize = Input(Bool())

  /** A packet is in the lane, or keys are being wiped. */
  val busy = Output(Bool())
}

object LanePorts {

  /**
   * Packets that may be granted and not yet out. From a grant to the packet's first beat are some
   * 14 cycles, in which a packet every 2 cycles is granted.
   */
  val grants: Int = 16

  /**
   * From the end of `zeroize` until nothing of a key is left in a lane: as many cycles as a lane
   * may have slots, and more.
   */
  val wipeCycles: Int = 272
}
