// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._

/** The compression function of SHA-256 (FIPS 180-4 6.2.2): 16 rounds a pass; see [[HashPipe]]. */
class Sha256Pipe extends HashPipe(Sha256Pipe)

object Sha256Pipe extends ShaLoop {
  val rounds = 16
  val phase = 1
  val words = 8

  /**
   * The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS
   * 180-4 4.2.2).
   */
  private val k: Seq[BigInt] = {
    def cubeRoot(x: BigInt) = (39 to 0 by -1).foldLeft(BigInt(0)) { (root, bit) =>
      val larger = root.setBit(bit)
      if (larger.pow(3) <= x) larger else root
    }
    val primes = Iterator.from(2).filter(n => (2 until n).forall(n % _ != 0)).take(64).toSeq
    primes.map(prime => cubeRoot(BigInt(prime) << 96) % (BigInt(1) << 32))
  }

  def constants(round: Int): Seq[BigInt] = Seq.tabulate(4)(pass => k(rounds * pass + round))

  def round(pass: UInt, variables: Seq[UInt]): Seq[UInt] = {
    val Seq(a, b, c, d, e, f, g, h) = variables
    val t1 = h + rotations(e, 6, 11, 25) + ShaLoop.choose(e, f, g)
    val t2 = rotations(a, 2, 13, 22) + ShaLoop.majority(a, b, c)
    Seq(t1 + t2, a, b, c, d + t1, e, f, g)
  }

  def expand(w: Seq[UInt]): UInt = w(9) + shifted(w(14), 17, 19, 10) + shifted(w(1), 7, 18, 3) + w(0)

  private def rotations(x: UInt, i: Int, j: Int, k: Int) = x.rotateRight(i) ^ x.rotateRight(j) ^ x.rotateRight(k)
  private def shifted(x: UInt, i: Int, j: Int, shift: Int) = x.rotateRight(i) ^ x.rotateRight(j) ^ (x >> shift)
}
