// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.util._

/**
 * Arithmetic modulo 2^130 - 5 for [[Poly1305Pipe]] (RFC 8439 2.5), as pipelines of registers.
 *
 * A number is five limbs, limb k counting 2^(26 k) times. Between multiplications limbs have up to
 * 27 bits and the number is any representative; 2^130 = 5 carries from the top limb to the lowest.
 *
 * Every product is one of 26 by 17 bits, which fills the multiplier of a DSP48E2 (27 by 18,
 * signed): 50 of them. The two registers behind each are the DSP's own. All but the last reduction
 * fits 64-bit words, for Verilator.
 */
object Poly1305 {

  /** Registers in [[multiplyAdd]], and the one in front of it. */
  val stages = 9

  /** Registers in [[reduce]] and the one behind it. */
  val endStages = 4

  private val low = 26

  /** r with 22 of its bits cleared (RFC 8439 2.5.1). */
  def clamp(r: UInt): UInt = r & BigInt("0ffffffc0ffffffc0ffffffc0fffffff", 16).U(128.W)

  /** The five limbs of a number of up to 130 bits. */
  def limbs(x: UInt): Vec[UInt] = {
    val padded = x.pad(5 * low)
    VecInit.tabulate(5)(k => padded(low * k + low - 1, low * k))
  }

  /**
   * Each limb adds its bits above the lowest 26 to the next limb; the top limb adds five times its
   * own to the lowest.
   */
  private def carry(x: Seq[UInt]): Seq[UInt] = {
    val over = x.map(limb => (limb >> low).asUInt)
    val received = (over.last +& (over.last << 2)) +: over.init
    x.zip(received).map { case (limb, more) => limb(low - 1, 0) +& more }
  }

  /**
   * (x + block) · r in limbs of 27 bits, 8 cycles after x and `block` (129 bits), 7 after `r`
   * (124 bits).
   *
   * Bounds, for each limb of x below 2^26 + 2^9: with the block it is below 2^27 + 2^9, and five
   * times that has 30 bits, 17 and 13. A column of five products of 56 bits at most has 58. Its
   * carry has 32 bits. The top column's limbs of r and x are not multiplied by five, so five times
   * its carry has 32 bits as well. The second carry has 6 bits, five times that is below 2^9.
   */
  def multiplyAdd(x: Seq[UInt], block: UInt, r: UInt): Vec[UInt] = {
    val sum = RegNext(VecInit(x.zip(limbs(block)).map { case (a, b) => a +& b }))
    // Limbs i and j make column i + j; from 5 on it is column i + j - 5, five times.
    val once = RegNext(sum)
    val fiveTimes = RegNext(VecInit(sum.map(limb => limb +& (limb << 2))))
    val multiplier = RegNext(limbs(r))
    val columns = Seq.tabulate(5) { k =>
      def half(part: UInt => UInt) = {
        val products = Seq.tabulate(5) { i =>
          val limb = if (i <= k) once(i) else fiveTimes(i)
          RegNext(RegNext(part(limb) * multiplier((k - i + 5) % 5)))
        }
        RegNext(products(0) +& products(1) +& products(2)) -> RegNext(products(3) +& products(4))
      }
      val (lowA, lowB) = half(_(16, 0))
      val (highA, highB) = half(_ >> 17)
      RegNext(((lowA +& lowB) +& ((highA +& highB) << 17))(57, 0))
    }
    val first = RegNext(VecInit(carry(columns).map(_(31, 0))))
    RegNext(VecInit(carry(first).map(_(26, 0))))
  }

  /**
   * The representative below 2^130, registered; and, not registered, the one below 2^130 - 5;
   * 3 cycles.
   *
   * Limbs of up to 27 bits are less than 2^130 + 2^115 together, so one carry of the bits from
   * 2^130 on to the bottom makes the sum fit. From a sum below 2^130, 2^130 - 5 can be subtracted
   * at most once.
   */
  def reduce(x: Vec[UInt]): (UInt, UInt) = {
    val over = Cat(x.init.reverse.map(limb => (limb >> low).pad(low))) ## (5.U(low.W) & Fill(low, x.last(low)))
    val sum = RegNext(Cat(x.reverse.map(_(low - 1, 0))) +& over)
    val once = RegNext((sum(129, 0) + Mux(sum(130), 5.U, 0.U))(129, 0))
    val plusFive = RegNext(once +& 5.U)
    val reduced = RegNext(once)
    (reduced, Mux(plusFive(130), plusFive(129, 0), reduced))
  }
}
