// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._

/**
 * The compression function of SM3 (GB/T 32905-2016 5.3): 16 rounds a pass, two stages a round; see
 * [[HashPipe]].
 *
 * A round has two additions in a row, SS1 and then TT1 and TT2, so the first stage makes SS1
 * (before its rotation) and what else goes into TT1 and TT2, the second the rest. The stage that
 * makes the loop odd does nothing.
 */
class Sm3Pipe extends HashPipe(Sm3Pipe)

object Sm3Pipe extends HashLoop {
  private val rounds = 16
  val stages: Int = 2 * rounds + 1
  val phase = 3
  val words = 8

  def step(stage: Int, pass: UInt, in: HashWords): HashWords = stage match {
    case 0 => in
    case _ if stage % 2 == 1 => firstHalf(stage / 2, pass, in)
    case _ => in.copy(variables = secondHalf(in.variables))
  }

  private def firstHalf(round: Int, pass: UInt, in: HashWords): HashWords = {
    val Seq(a, b, c, d, e, f, g, h) = in.variables
    val w = in.schedule
    val t = VecInit(Seq.tabulate(4)(pass => constant(rounds * pass + round).U(32.W)))(pass)
    val early = pass === 0.U
    val ff = Mux(early, a ^ b ^ c, ShaLoop.majority(a, b, c))
    val gg = Mux(early, e ^ f ^ g, ShaLoop.choose(e, f, g))
    val ss = a.rotateLeft(12) + e + t
    HashWords(Seq(a, b, c, e, f, g, ss, d + ff + (w(0) ^ w(4)), h + gg + w(0)), w.tail :+ expand(w))
  }

  private def secondHalf(variables: Seq[UInt]): Seq[UInt] = {
    val Seq(a, b, c, e, f, g, ss, forTt1, forTt2) = variables
    val ss1 = ss.rotateLeft(7)
    val tt1 = forTt1 + (ss1 ^ a.rotateLeft(12))
    val tt2 = forTt2 + ss1
    Seq(tt1, a, b.rotateLeft(9), c, tt2 ^ tt2.rotateLeft(9) ^ tt2.rotateLeft(17), e, f.rotateLeft(19), g)
  }

  /** T of a round, rotated by its number. */
  private def constant(round: Int): BigInt =
    BigInt(Integer.toUnsignedLong(Integer.rotateLeft(if (round < 16) 0x79cc4519 else 0x7a879d8a, round)))

  /** Word j + 16 of the message schedule from words j to j + 15. */
  private def expand(w: Seq[UInt]): UInt = {
    val x = w(0) ^ w(7) ^ w(13).rotateLeft(15)
    x ^ x.rotateLeft(15) ^ x.rotateLeft(23) ^ w(3).rotateLeft(7) ^ w(10)
  }

  def finish(after: UInt, before: UInt): UInt = after ^ before
}
