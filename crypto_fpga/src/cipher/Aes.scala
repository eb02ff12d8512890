// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._

/**
 * FIPS-197 as functions on hardware values. Byte 0 of a block or key is in bits 7:0; a column is a
 * 32-bit word.
 *
 * Arithmetic is on whole words: 2.9 times as fast in Verilator as byte by byte, and the same LUTs.
 */
object Aes {

  /** A number times x in GF(2^8). */
  private def double(a: Int): Int = if ((a & 0x80) != 0) a << 1 ^ 0x11b else a << 1

  /** The S-box (FIPS-197 5.1.1): inverse in GF(2^8), then the affine map. */
  val sbox: Seq[Int] = {
    def times(a: Int, b: Int): Int =
      (0 until 8).foldLeft((0, a)) { case ((sum, power), i) =>
        (if ((b >> i & 1) != 0) sum ^ power else sum, double(power))
      }._1
    def rotate(x: Int, by: Int): Int = (x << by | x >> (8 - by)) & 0xff
    (0 until 256).map { x =>
      val inverse = (0 until 256).find(times(x, _) == 1).getOrElse(0)
      (1 to 4).map(rotate(inverse, _)).foldLeft(inverse ^ 0x63)(_ ^ _)
    }
  }

  val inverseSbox: Seq[Int] = (0 until 256).map(sbox.indexOf(_))

  /** Round constants of the key schedule; `rcon(1)` = 1. */
  val rcon: Seq[Int] = Seq(0, 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36)

  def words(x: UInt): Seq[UInt] = Seq.tabulate(x.getWidth / 32)(i => x(32 * i + 31, 32 * i))
  def pack(parts: Seq[UInt]): UInt = Cat(parts.reverse)
  private def rotateRight(word: UInt, by: Int): UInt = Cat(word(by - 1, 0), word(31, by))

  def subBytes(x: UInt)(implicit sbox: Definition[AesSbox]): UInt = Sbox.substitute(x)

  private val doubledSbox: Seq[Int] = sbox.map(s => s | double(s) << 8)

  /**
   * SubBytes in block RAM: of each byte, after a cycle, its image and in the high half that times
   * x. A round is then one LUT a bit.
   */
  def subBytesDoubled(state: UInt): Seq[UInt] =
    SboxRom.lookUp(new SboxRom("AesSboxRom", doubledSbox, 16), state, 16)

  /** The same or, with `inverse`, InvSubBytes: of each byte its image in the low half. */
  def subBytesEither(state: UInt, inverse: Bool): Seq[UInt] =
    SboxRom.lookUp(new SboxRom("AesEitherSboxRom", doubledSbox ++ inverseSbox, 16), state, 16, Some(inverse))

  /** Row r of the state, whose bytes these are, moves r columns to the left. */
  def shiftRows[T](state: Seq[T]): Seq[T] = Seq.tabulate(16)(i => state((i + 4 * (i % 4)) % 16))
  def inverseShiftRows[T](state: Seq[T]): Seq[T] = Seq.tabulate(16)(i => state((i + 12 * (i % 4)) % 16))

  /** Multiplies each byte of a word by x in GF(2^8). */
  def xtime(word: UInt): UInt = {
    val high = (word >> 7) & 0x01010101L.U(32.W)
    def up(x: UInt, by: Int) = (x << by)(31, 0)
    up(word & 0x7f7f7f7fL.U(32.W), 1) ^ high ^ up(high, 1) ^ up(high, 3) ^ up(high, 4)
  }

  def mixColumns(state: UInt): UInt = pack(words(state).map { column =>
    val next = rotateRight(column, 8)
    xtime(column ^ next) ^ next ^ rotateRight(column, 16) ^ rotateRight(column, 24)
  })

  /** The low halves of rows as one state, and the high halves. */
  def low(rows: Seq[UInt]): UInt = pack(rows.map(_(7, 0)))
  private def high(rows: Seq[UInt]): UInt = pack(rows.map(_(15, 8)))

  /** mixColumns of what [[subBytesDoubled]] gives. */
  def mixDoubled(rows: Seq[UInt]): UInt = pack(words(low(rows)).zip(words(high(rows))).map { case (once, twice) =>
    twice ^ rotateRight(twice ^ once, 8) ^ rotateRight(once, 16) ^ rotateRight(once, 24)
  })

  /**
   * The inverse matrix is that of mixColumns times one that adds 4(a + c) and 4(b + d) to a
   * column's (a, b, c, d).
   */
  def inverseMixColumns(state: UInt): UInt = mixColumns(pack(words(state).map { column =>
    val fourfold = xtime(xtime(column ^ rotateRight(column, 16)))
    column ^ fourfold
  }))

  /** RotWord, after SubWord or before: they commute. */
  def rotWord(word: UInt): UInt = rotateRight(word, 8)
}
