// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.crypto.hash.HashKind
import sallyport.crypto.suite.{AuthKind, CipherKind, Suite}

/**
 * The parameters of a lane.
 *
 * @param encrypt
 *   direction of the lane: it builds ESP packets, or it verifies and opens them
 * @param suites
 *   the suites that it has; pipes that none of them needs are not built
 * @param slots packets that the engine works on, a power of two. A chained suite needs many, as the
 *   steps of a packet are 15 to 140 cycles apart
 * @param bufferBeats beats of 64 bytes in each packet buffer, a power of two. 4096 fill eight URAMs
 *   and hold 25 packets of 9000 bytes in the slow ring, as many as CBC needs to keep the SM4
 *   pipe busy
 */
case class LaneConfig(encrypt: Boolean, suites: Seq[Suite] = Suite.all, slots: Int = 64, bufferBeats: Int = 4096) {
  require(suites.nonEmpty, "a lane without a suite has nothing to do")
  require(
    slots >= 32 && slots <= 256 && isPow2(slots),
    s"a lane has 32 to 256 slots, a power of two, not $slots"
  )
  require(
    bufferBeats >= 512 && isPow2(bufferBeats),
    s"a lane's buffer is a power of two of at least 512 beats, so that a 9600-byte packet fits each ring, not $bufferBeats"
  )

  val slotBits: Int = log2Ceil(slots)
  val rowBits: Int = log2Ceil(bufferBeats)

  /**
   * Fast packets and slow ones (see [[Suite.fast]]) have rings of slots and of beats of their own:
   * neither waits for the other.
   */
  val slotRings: Rings = Rings.split(slots, (slots / 4).min(16), suites)
  val beatRings: Rings = Rings.split(bufferBeats, if (bufferBeats >= 2048) bufferBeats / 8 else bufferBeats / 2, suites)

  /**
   * Packets of a class in the lane at most. A slow one has but its beats from its end on
   * ([[LaneRetire]]).
   */
  def packets(fast: Boolean): Int =
    if (fast) slotRings.places(true) else beatRings.places(false) / (if (encrypt) 2 else 1)
  def packets: Int = packets(false) + packets(true)

  /** A bit for each slot of slow packets. */
  def slowSlots: BigInt = ((BigInt(1) << slotRings.places(false)) - 1) << slotRings.start(false)

  def has(property: Suite => Boolean): Boolean = suites.exists(property)
  val hasAes: Boolean = has(_.cipher.isInstanceOf[CipherKind.Aes])
  val hasSm4: Boolean = has(_.cipher == CipherKind.Sm4)
  val hasChaCha: Boolean = has(_.cipher == CipherKind.ChaCha20)
  val hasCbc: Boolean = has(_.cbc)
  val hasGhash: Boolean = has(_.fast)
  val hasSlow: Boolean = has(!_.fast)
  val hashes: Set[HashKind.Type] = suites.map(_.auth).collect {
    case AuthKind.Hmac(hash) => hash
    case AuthKind.Poly1305 => HashKind.poly1305
  }.toSet
}

/**
 * A memory of 2^n places shared by two rings: [0, `fast`) and [`fast`, `size`).
 *
 * @param fast
 *   a power of two, or 0 or `size` if there is but one ring
 */
case class Rings(size: Int, fast: Int) {
  require(isPow2(size) && (fast == 0 || isPow2(fast)) && fast <= size)
  private val bits = log2Ceil(size)
  private def both = fast > 0 && fast < size

  def places(fastRing: Boolean): Int = if (fastRing) fast else size - fast

  /** Where a ring starts. */
  def start(fastRing: Boolean): Int = if (fastRing) 0 else fast % size

  def isFast(place: UInt): Bool = if (both) (place >> log2Ceil(fast)) === 0.U else (fast == size).B

  /** `distance` places after `place` in its ring. Two adders deep, the second of a few bits. */
  def after(place: UInt, distance: UInt): UInt = {
    val sum = place.pad(bits) +& distance.pad(bits)
    val wrapped = sum(bits - 1, 0)
    if (!both) wrapped
    else {
      val low = log2Ceil(fast)
      val high = wrapped(bits - 1, low) + sum(bits)
      Mux(isFast(place), wrapped(low - 1, 0).pad(bits), high ## wrapped(low - 1, 0))
    }
  }
}

object Rings {
  def split(size: Int, fast: Int, suites: Seq[Suite]): Rings =
    Rings(size, if (suites.forall(_.fast)) size else if (suites.exists(_.fast)) fast else 0)
}
