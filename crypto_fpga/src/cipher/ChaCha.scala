// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._

/**
 * ChaCha20 (RFC 8439) as functions on hardware values: a state is 16 words of 32 bits, row
 * by row.
 */
object ChaCha {

  /** The first row: "expand 32-byte k" (2.3). */
  val constants: Seq[UInt] = Seq(0x61707865L, 0x3320646eL, 0x79622d32L, 0x6b206574L).map(_.U(32.W))

  def words(x: UInt): Seq[UInt] = Seq.tabulate(x.getWidth / 32)(i => x(32 * i + 31, 32 * i))

  /**
   * Half of four quarter rounds (2.1): a += b; d ^= a; d <<<= 16 or 8; c += d; b ^= c; b <<<= 12
   * or 7.
   *
   * @param diagonal
   *   on diagonals, not on columns
   * @param second
   *   the second half
   */
  def halfRound(state: Seq[UInt], diagonal: Boolean, second: Boolean): Seq[UInt] = {
    val (turnD, turnB) = if (second) (8, 7) else (16, 12)
    val next = Array.ofDim[UInt](16)
    for (column <- 0 until 4) {
      val Seq(a, b, c, d) = Seq.tabulate(4)(row => 4 * row + (column + (if (diagonal) row else 0)) % 4)
      next(a) = state(a) + state(b)
      next(d) = (state(d) ^ next(a)).rotateLeft(turnD)
      next(c) = state(c) + next(d)
      next(b) = (state(b) ^ next(c)).rotateLeft(turnB)
    }
    next.toSeq
  }

  /**
   * Turns columns into diagonals and diagonals into columns: in row r word j changes places with
   * word r - j. Twice, it changes nothing.
   */
  def exchange(state: Seq[UInt]): Seq[UInt] =
    Seq.tabulate(16) { i =>
      val (row, column) = (i / 4, i % 4)
      state(4 * row + (row - column + 4) % 4)
    }
}
