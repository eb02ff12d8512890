// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.util._

/** The compression function of SHA-1 (FIPS 180-4 6.1.2): 20 rounds a pass; see [[HashPipe]]. */
class Sha1Pipe extends HashPipe(Sha1Pipe)

object Sha1Pipe extends ShaLoop {
  val rounds = 20
  val phase = 2
  val words = 5

  /** A constant a pass (FIPS 180-4 4.2.1). */
  def constants(round: Int): Seq[BigInt] = Seq(0x5a827999L, 0x6ed9eba1L, 0x8f1bbcdcL, 0xca62c1d6L).map(BigInt(_))

  def round(pass: UInt, variables: Seq[UInt]): Seq[UInt] = {
    val Seq(a, b, c, d, e) = variables
    val f = MuxLookup(pass, b ^ c ^ d)(Seq(0.U -> ShaLoop.choose(b, c, d), 2.U -> ShaLoop.majority(b, c, d)))
    Seq(a.rotateLeft(5) + f + e, a, b.rotateLeft(30), c, d)
  }

  def expand(w: Seq[UInt]): UInt = (w(13) ^ w(8) ^ w(2) ^ w(0)).rotateLeft(1)
}
