// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._

/** Key lengths of FIPS-197 section 5. */
object AesKeySize extends ChiselEnum {
  val bits128, bits192, bits256 = Value

  /** By the number of bytes of a key. */
  def ofBytes(bytes: Int): Type = bytes match {
    case 16 => bits128
    case 24 => bits192
    case 32 => bits256
  }

  /** Rounds of the cipher: 10, 12 or 14. */
  def rounds(size: Type): Int = 10 + 2 * all.indexOf(size)
}

/**
 * The key expansion (FIPS-197 5.2) on the fly: four words a stage, whatever the key length, from
 * the eight before them. One SubWord a stage is enough for all three lengths. AES-192 transforms
 * the words whose number is a multiple of 6, at most one of a round key: word 4k or 4k + 2 of round
 * key k, or none. What SubWord takes ([[word]]) and what becomes of it ([[next]]) are apart, so
 * that both directions can share it.
 */
private[crypto] object AesKeySchedule {

  /** Each word is the sum of the word before it and the one Nk words before it. */
  private def chain(base: Seq[UInt], before: UInt): Seq[UInt] = base.scanLeft(before)(_ ^ _).tail

  /**
   * What round key `k` needs by key length; those whose last round key is before it
   * need nothing.
   */
  private def bySize(k: Int, size: AesKeySize.Type)(for128: => UInt, for192: => UInt, for256: => UInt): UInt =
    if (k > 12) for256
    else {
      val long = Mux(size === AesKeySize.bits192, for192, for256)
      if (k > 10) long else Mux(size === AesKeySize.bits128, for128, long)
    }

  private def rotated(sub: UInt, rcon: Int): UInt = Aes.rotWord(sub) ^ Aes.rcon(rcon).U

  /** Round key 1, words 4 to 7, of a key of 256 bits whose low `size` bits count. */
  def first(key: UInt, size: AesKeySize.Type)(implicit sbox: Definition[AesSbox]): UInt = {
    val w = Aes.words(key)
    val transformed = rotated(Aes.subBytes(Mux(size === AesKeySize.bits192, w(5), w(3))), 1)
    val for128 = chain(w.take(4), transformed)
    val for192 = w.slice(4, 6) ++ chain(w.take(2), transformed)
    Cat(Seq.tabulate(4)(i => bySize(1, size)(for128(i), for192(i), w(4 + i))).reverse)
  }

  /**
   * Which of the four words of round key `k`, if any, is the sum of a transformed one
   * with AES-192.
   */
  private def offset192(k: Int): Option[Int] = if (k > 12) None else Seq(Some(0), Some(2), None)(k % 3)

  /** The word that SubWord transforms for [[next]]. */
  def word(k: Int, older: UInt, newer: UInt, size: AesKeySize.Type): UInt = {
    val before = Aes.words(older)
    val last = Aes.words(newer).last
    if (offset192(k).contains(2)) Mux(size === AesKeySize.bits192, last ^ before(2) ^ before(3), last) else last
  }

  /**
   * Round key `k`, from 2 to 14, after round keys k - 2 (`older`) and k - 1 (`newer`); `sub` is
   * SubWord of [[word]].
   */
  def next(k: Int, older: UInt, newer: UInt, size: AesKeySize.Type, sub: UInt): UInt = {
    val is192 = size === AesKeySize.bits192
    val w = Aes.words(older) ++ Aes.words(newer)
    val last = w(7)
    def for192 = rotated(sub, (4 * k + 2) / 6)
    def for256 = if (k % 2 == 0) rotated(sub, k / 2) else sub

    val base = Seq.tabulate(4)(i => bySize(k, size)(w(4 + i), w(2 + i), w(i)))
    val begin = bySize(k, size)(rotated(sub, k), if (offset192(k).contains(0)) for192 else last, for256)
    val half = chain(base.take(2), begin)
    val middle = if (offset192(k).contains(2)) Mux(is192, for192, half.last) else half.last
    Cat((half ++ chain(base.drop(2), middle)).reverse)
  }

  private def backBySize(k: Int, is128: Bool)(for128: => UInt, for256: UInt): UInt =
    if (k > 10) for256 else Mux(is128, for128, for256)

  /** The word that SubWord transforms for [[previous]]. */
  def wordBack(k: Int, older: UInt, is128: Bool): UInt = {
    val end = Aes.words(older)
    backBySize(k, is128)(end(3) ^ end(2), end(3))
  }

  /**
   * Backwards, AES-128 and AES-256: round key `k` - 1 before round keys k (`older`) and, with
   * AES-256, k + 1 (`newer`); `sub` is SubWord of [[wordBack]].
   */
  def previous(k: Int, older: UInt, newer: UInt, is128: Bool, sub: UInt): UInt = {
    val base = Aes.words(backBySize(k, is128)(older, newer))
    val transformed = backBySize(k, is128)(rotated(sub, k), if (k % 2 == 1) rotated(sub, (k + 1) / 2) else sub)
    Cat(base(3) ^ base(2), base(2) ^ base(1), base(1) ^ base(0), base(0) ^ transformed)
  }
}
