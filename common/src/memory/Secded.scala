// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._
import chisel3.util.UIntToOH

/** The decoder's verdict on a code word. Both flags are low for a word without a wrong bit. */
class SecdedVerdict(bits: Int) extends Bundle {

  /** One bit is wrong, in the data or in the check bits. */
  val repaired = Bool()

  /** More bits are wrong than the code repairs. */
  val spoiled = Bool()

  /** Marks the wrong bit of the data; 0 if no bit of the data is to be repaired. */
  val flips = UInt(bits.W)
}

/**
 * A code that repairs one flipped bit of a row and detects two: M. Y. Hsiao, "A Class of Optimal
 * Minimum Odd-weight-column SEC-DED Codes", IBM J. R&D 14(4), 1970. A word is the data with
 * `checkBits` bits above it.
 *
 * All functions are combinational. In LUT levels, up to 120 data bits: [[encode]] and [[syndrome]]
 * 2 or 3, [[verdict]] 4. Put a register between the last two. A word of zeros is valid, so a memory
 * that is cleared needs no check bits of its own.
 *
 * @param dataBits 1 to 1024
 */
case class Secded(dataBits: Int) extends RowCode {
  require(dataBits >= 1 && dataBits <= 1024, s"a code word has 1 to 1024 bits of data, not $dataBits")

  /** The columns of odd weight are half of all; those of weight 1 are the check bits'. */
  val checkBits: Int = Iterator.from(4).find(r => (1 << (r - 1)) - r >= dataBits).get
  override val bits: Int = dataBits + checkBits

  /**
   * The syndrome that each bit of a word gives when it alone is wrong. All differ and have odd
   * weight, so two wrong bits give one of even weight.
   */
  val columns: Seq[Int] = Secded.columns(dataBits, checkBits) ++ Seq.tabulate(checkBits)(1 << _)

  private def sums(word: UInt, columns: Seq[Int]): UInt =
    VecInit.tabulate(checkBits) { check =>
      val mask = columns.zipWithIndex.collect { case (c, n) if (c >> check & 1) == 1 => BigInt(1) << n }.sum
      (word & mask.U(columns.size.W)).xorR
    }.asUInt

  /**
   * The sums of a wide code in two cycles, with a register between them: for each check bit, the
   * parities that each 64 bits of `bits` add to it. `bits` are data, or a whole word. 2 LUT levels,
   * and 2 more for the sum of the parts.
   */
  def parts(bits: UInt): Seq[UInt] = {
    val pieces = (0 until bits.getWidth by 64).map(lsb => lsb until (lsb + 64).min(bits.getWidth))
    Seq.tabulate(checkBits) { check =>
      VecInit(pieces.map { piece =>
        val mask = piece.filter(n => (columns(n) >> check & 1) == 1).map(n => BigInt(1) << (n - piece.start)).sum
        (bits(piece.last, piece.start) & mask.U(piece.size.W)).xorR
      }).asUInt
    }
  }

  /** The word of `data`. */
  def encode(data: UInt): UInt = sums(data, columns.take(dataBits)) ## data

  /** 0 if no bit of `word` is wrong. */
  def syndrome(word: UInt): UInt = sums(word, columns)

  /**
   * The bit of a word, if any, that gives this syndrome when it alone is wrong. Each column is two
   * halves, each half decoded once: a bit of the syndrome drives few gates in a wide code, too.
   */
  def matches(syndrome: UInt): UInt = {
    val split = checkBits / 2
    val low = UIntToOH(syndrome(split - 1, 0))
    val high = UIntToOH(syndrome(checkBits - 1, split))
    VecInit(columns.map(column => low(column & (1 << split) - 1) && high(column >> split))).asUInt
  }

  /** The verdict of a syndrome. One of no column, as three flips may give, is beyond repair. */
  def verdict(syndrome: UInt): SecdedVerdict = {
    val matches = this.matches(syndrome)
    val verdict = Wire(new SecdedVerdict(dataBits))
    verdict.repaired := matches.orR
    verdict.spoiled := syndrome.orR && !matches.orR
    verdict.flips := matches(dataBits - 1, 0)
    verdict
  }
}

object Secded {

  /**
   * Columns of 3 bits, then of 5, and so on. Of the last weight those are taken that load the check
   * bits most evenly: the widest sum decides the levels.
   */
  private def columns(count: Int, checkBits: Int): Seq[Int] = {
    val byWeight = (3 to checkBits by 2).map(weight => (1 until 1 << checkBits).filter(Integer.bitCount(_) == weight))
    val chosen = scala.collection.mutable.ArrayBuffer.empty[Int]
    val load = Array.fill(checkBits)(0)
    for (weight <- byWeight) {
      val left = scala.collection.mutable.LinkedHashSet.from(weight)
      while (left.nonEmpty && chosen.size < count) {
        def rows(column: Int) = (0 until checkBits).filter(row => (column >> row & 1) == 1)
        val next = left.minBy(rows(_).map(row => load(row) * load(row)).sum)
        left -= next
        chosen += next
        rows(next).foreach(load(_) += 1)
      }
    }
    chosen.toSeq
  }
}
