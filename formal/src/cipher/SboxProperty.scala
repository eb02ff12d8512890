// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.cipher

import chisel3._
import chisel3.util._
import sallyport.crypto.cipher.{AesSbox, Sm4Sbox}
import sallyport.formal.harness.{Bug, Claim, Property}

/** One entry of the table is wrong. */
private object WrongEntry {
  def apply(module: String, right: Int): Bug = Bug(module, f"8'h$right%X;", f"8'h${right ^ 0x10}%X;")
}

class AesSboxProperty
    extends Property(
      Claim(
        proves = "The S-box of AES is the inverse in GF(2^8), followed by the affine map, for each of 256 bytes.",
        clause = "FIPS 197 5.1.1",
        bug = WrongEntry("AesSbox", 0x16),
        depth = 1,
        reach = 2
      )
    ) {
  private val x = any(UInt(8.W))
  private val inverse = Field.inverse(x, 0x11b)
  assert(x === 0.U || Field.times(x, inverse, 0x11b) === 1.U)
  private val dut = Module(new AesSbox)
  dut.io.in := x
  private val affine = Cat((0 until 8).reverse.map { i =>
    Seq(0, 4, 5, 6, 7).map(j => inverse((i + j) % 8)).reduce(_ ^ _) ^ ((0x63 >> i) & 1).U(1.W)
  })
  assert(dut.io.out === affine)
  cover(x === 0x53.U && dut.io.out === 0xed.U)
}

/**
 * GB/T 32907-2016 gives a table. Liu and others published the algebra behind it: F. Liu et al.,
 * "Analysis of the SMS4 block cipher", ACISP 2007.
 */
class Sm4SboxProperty
    extends Property(
      Claim(
        proves = "The S-box of SM4 is an affine map, the inverse in GF(2^8) and the map again, for each of 256 bytes.",
        clause = "GB/T 32907-2016 6.2, by the algebra of Liu and others (ACISP 2007)",
        bug = WrongEntry("Sm4Sbox", 0x48),
        depth = 1,
        reach = 2
      )
    ) {
  private def map(x: UInt): UInt = {
    def row(i: Int) = (0xa7 << i | 0xa7 >> (8 - i)) & 0xff
    Cat((0 until 8).reverse.map(i => (x & row(i).U).xorR)) ^ 0xd3.U
  }
  private val x = any(UInt(8.W))
  private val inverse = Field.inverse(map(x), 0x1f5)
  private val dut = Module(new Sm4Sbox)
  dut.io.in := x
  assert(dut.io.out === map(inverse))
  cover(x === 0.U && dut.io.out === 0xd6.U)
}
