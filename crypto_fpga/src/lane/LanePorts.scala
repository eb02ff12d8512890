package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common._

/**
 * What is fixed in a lane when it is built.
 *
 * @param encrypt
 *   direction of the lane: it builds ESP packets, or it verifies and opens them
 * @param slots
 *   packets in flight; a power of two. A chained cipher needs as many as its pipe has stages
 * @param bufferBeats
 *   beats of 64 bytes in each packet buffer; a power of two. 512 fill the block RAMs that 256 would half use, and hold
 *   three packets of 9600 bytes, which keep the pipes busy where one packet alone cannot
 */
case class LaneConfig(encrypt: Boolean, slots: Int = 16, bufferBeats: Int = 512) {
  require(
    slots >= 4 && slots <= 64 && Integer.bitCount(slots) == 1,
    s"a lane has 4 to 64 slots, a power of two, not $slots"
  )
  require(
    bufferBeats >= 256 && Integer.bitCount(bufferBeats) == 1,
    s"a lane's buffer is a power of two of at least 256 beats, so that a 9600-byte packet fits, not $bufferBeats"
  )
}

/** Suite numbers of the key rows. Dispatch passes a lane none but these. */
object Suite {
  val bits = 8
  val aes128gcm16 = 1
  val aes256gcm16 = 2
  val aes192gcm16 = 14

  def keySize(suite: UInt): AesKeySize.Type = MuxLookup(suite, AesKeySize.bits128)(
    Seq(aes192gcm16.U -> AesKeySize.bits192, aes256gcm16.U -> AesKeySize.bits256)
  )
}

/**
 * Everything a lane needs to know of a packet beside its bytes.
 *
 * Fields that are byte strings (`key`, `salt`, `hashKey`, `hashKey2`) have byte 0 in bits 7:0, as the key rows have.
 * Fields that are numbers (`spi`, `sequence`, `iv`) are big-endian on the wire; the lane turns them.
 */
class LaneJob extends Bundle {
  val suite = UInt(Suite.bits.W)
  val key = UInt(256.W)
  val salt = UInt(32.W)

  /** GHASH key H = E(K, 0) and its square in GF(2^128), both as GCM writes them. */
  val hashKey = UInt(128.W)
  val hashKey2 = UInt(128.W)

  /** The associated data holds all 64 bits of the sequence number (RFC 4106 section 5). */
  val esn = Bool()

  /** Encrypt: the packet's number. Decrypt: the inferred number; the lane uses its high half alone, under `esn`. */
  val sequence = UInt(64.W)

  /** Encrypt only: the explicit IV. Decrypt: the lane takes it from the packet. */
  val iv = UInt(64.W)

  /** Encrypt only. Decrypt: the lane takes it from the packet. */
  val spi = UInt(32.W)

  /** Passed through to the result; see [[LaneResult.meta]]. Encrypt reads `nextHeader` for the trailer. */
  val meta = new LinkMeta
}

/** How a packet left a lane. An encrypting lane gives `ok` and `zeroized` only. */
object Verdict extends ChiselEnum {

  /** Encrypted, or authentic and well formed. */
  val ok = Value

  /** The 16 bytes of the ICV do not all match. Takes precedence over the padding, which nobody may look at then. */
  val badIcv = Value

  /** Authentic, but the pad bytes are not 1, 2, 3 … (RFC 4303 section 2.4). */
  val badPadding = Value

  /**
   * Shorter than ESP header, IV, trailer and ICV, or not a multiple of 4 bytes, or authentic with a pad length
   * beyond the payload, or the input beat said `error`.
   */
  val truncated = Value

  /** Authentic, with nothing to deliver: next header 59 (RFC 4303 section 2.6), or a payload of no bytes. */
  val dummy = Value

  /** Its keys were zeroized while it was in the lane. */
  val zeroized = Value
}

/** Metadata of a lane's output. */
class LaneResult extends Bundle {
  val verdict = Verdict()

  /**
   * The job's `meta`; if the verdict is `ok`, with `length` (both directions) and `nextHeader` (decrypt: from the
   * trailer) replaced.
   */
  val meta = new LinkMeta
}

/**
 * Ports of a [[Lane]]; both streams obey the rule at [[sallyport.common.PacketBeat]].
 *
 * Each packet that goes in comes out exactly once, in the order of arrival, with its verdict. A packet whose
 * verdict is not `ok` comes out as exactly one beat with `data` 0, `bytes` 1, `last` and `error`: nothing of its
 * bytes leaves.
 *
 * `in.bits.meta.meta.length` is not relied on: the lane counts the bytes that come in.
 *
 * `zeroize`, a pulse or a level: every packet that has begun to enter the lane and not begun to leave it comes out
 * as `zeroized`; key material is wiped from memories and pipes within 80 cycles (with up to 32 slots), and `in` is
 * not ready until that is done and `zeroize` is low. A packet whose output has begun is finished.
 */
class LanePorts extends Bundle {
  val in = Flipped(PacketStream(new LaneJob))
  val out = PacketStream(new LaneResult)
  val zeroize = Input(Bool())

  /** A packet is in the lane, or keys are being wiped. */
  val busy = Output(Bool())
}
