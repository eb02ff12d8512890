package sallyport.crypto

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
}

/**
 * The key expansion (FIPS-197 5.2) on the fly: four words a stage, whatever the key length, from the eight before
 * them. One SubWord a stage is enough for all three lengths, because the words that AES-192 transforms, those whose
 * number is a multiple of 6, are six apart: word 4k or 4k + 2 of round key k, or none.
 */
private[crypto] object AesKeySchedule {

  /** Each word is the sum of the word before it and the one Nk words before it. */
  private def chain(base: Seq[UInt], before: UInt): Seq[UInt] = base.scanLeft(before)(_ ^ _).tail

  private def bySize(size: AesKeySize.Type, for128: UInt, for192: UInt, for256: UInt): UInt =
    MuxLookup(size, for128)(Seq(AesKeySize.bits192 -> for192, AesKeySize.bits256 -> for256))

  private def rotated(sub: UInt, rcon: Int): UInt = Aes.rotWord(sub) ^ Aes.rcon(rcon).U

  /** Round key 1, words 4 to 7, of a key of 256 bits whose low `size` bits count. */
  def first(key: UInt, size: AesKeySize.Type)(implicit sbox: Definition[AesSbox]): UInt = {
    val w = Aes.words(key)
    val transformed = rotated(Aes.subBytes(Mux(size === AesKeySize.bits192, w(5), w(3))), 1)
    val for128 = chain(w.take(4), transformed)
    val for192 = w.slice(4, 6) ++ chain(w.take(2), transformed)
    Cat(Seq.tabulate(4)(i => bySize(size, for128(i), for192(i), w(4 + i))).reverse)
  }

  /** Round key `k`, from 2 to 14, after round keys k - 2 (`older`) and k - 1 (`newer`). */
  def next(k: Int, older: UInt, newer: UInt, size: AesKeySize.Type)(implicit sbox: Definition[AesSbox]): UInt = {
    val is192 = size === AesKeySize.bits192
    val w = Aes.words(older) ++ Aes.words(newer)
    val last = w(7)
    // Which of the four words, if any, is the sum of a transformed one with AES-192.
    val offset192 = Seq(Some(0), Some(2), None)(k % 3)
    val sub = Aes.subBytes(if (offset192.contains(2)) Mux(is192, last ^ w(2) ^ w(3), last) else last)
    val for128 = if (k <= 10) rotated(sub, k) else sub
    val for192 = if (offset192.isDefined && k <= 12) rotated(sub, (4 * k + 2) / 6) else sub
    val for256 = if (k % 2 == 0) rotated(sub, k / 2) else sub

    val base = Seq.tabulate(4)(i => bySize(size, w(4 + i), w(2 + i), w(i)))
    val begin = bySize(size, for128, if (offset192.contains(0)) for192 else last, for256)
    val half = chain(base.take(2), begin)
    val middle = if (offset192.contains(2)) Mux(is192, for192, half.last) else half.last
    Cat((half ++ chain(base.drop(2), middle)).reverse)
  }
}
