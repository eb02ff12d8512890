// SPDX-License-Identifier: Apache-2.0
package sallyport.common.arithmetic

import chisel3._
import chisel3.util._

/**
 * Pipelined shifts of a wide word by a number of bytes, four choices (two LUT levels or less) a
 * register stage.
 */
object ByteShift {

  /**
   * Pairs of bits of the amounts, most significant first, that differ between the amounts: each
   * needs a stage.
   */
  private def variable(amounts: Seq[Int]): Seq[Int] =
    Seq(4, 2, 0).filter(low => amounts.map(_ >> low & 3).distinct.length > 1)

  /** What the other pairs of bits amount to. */
  private def shared(amounts: Seq[Int]): Int =
    amounts.head & Seq(4, 2, 0).filterNot(variable(amounts).contains).map(3 << _).sum

  /** Cycles that `right` takes. */
  def stages(amounts: Seq[Int]): Int = variable(amounts).length

  /**
   * `data >> 8 * amount`, `outBytes` bytes of it, after `stages(amounts)` cycles.
   *
   * @param amount a 6-bit number, one of `amounts`; bits that all of `amounts` share cost nothing
   */
  def right(data: UInt, amount: UInt, amounts: Seq[Int], outBytes: Int): UInt = {
    require(
      amounts.nonEmpty && amounts.forall(a => a >= 0 && a < 64),
      s"byte shifts of $amounts: give amounts of 0 to 63"
    )
    val pairs = variable(amounts)
    val fixed = shared(amounts)
    var shifted: UInt = data(data.getWidth - 1, 8 * fixed)
    var rest: UInt = amount
    for (low <- pairs) {
      // What later stages still shift by at most.
      val reach = pairs.filter(_ < low).map(3 << _).sum
      val bits = 8 * (outBytes + reach)
      val stage = Reg(UInt(bits.W))
      stage := VecInit((0 to 3).map(c => slice(shifted, 8 * (c << low), bits)))(rest(low + 1, low))
      shifted = stage
      rest = RegNext(rest)
    }
    slice(shifted, 0, 8 * outBytes)
  }

  /**
   * `data` turned by a number of bytes, without registers: byte i comes to i + `amount`, those
   * pushed out at the end to the start.
   *
   * @param amount a 6-bit number, one of `amounts`, as with `right`
   */
  def turn(data: UInt, amount: UInt, amounts: Seq[Int]): UInt = {
    def by(bytes: Int, word: UInt): UInt = word.rotateLeft(8 * bytes)
    variable(amounts).foldLeft(by(shared(amounts), data)) { (turned, low) =>
      val digits = amounts.map(_ >> low & 3).distinct
      // In the place of a digit that never comes, one that spares bits of the choice.
      val choices = (0 to 3).map(digit => by(digits.minBy(d => Integer.bitCount(d ^ digit)) << low, turned))
      MuxTree(amount(low + 1, low), choices)
    }
  }

  /** `bits` bits of `data` from bit `low` up, zero above its end. */
  private def slice(data: UInt, low: Int, bits: Int): UInt =
    if (low >= data.getWidth) 0.U(bits.W) else data((low + bits min data.getWidth) - 1, low).pad(bits)

  /** 64 bits, one a byte: bit i is set if `i < count` (0 to 64). */
  def mask(count: UInt): UInt = VecInit((0 until 64).map(i => count > i.U)).asUInt

  /** `data` with the bytes outside `mask` zero. */
  def keep(data: UInt, mask: UInt): UInt = data & FillInterleaved(8, WireDefault(UInt(64.W), mask))
}
