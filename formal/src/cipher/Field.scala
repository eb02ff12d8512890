// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.cipher

import chisel3._

/** Arithmetic of GF(2^8) as the standards define it: by shifts and additions. */
object Field {

  /** The product modulo `polynomial`, of degree 8. */
  def times(a: UInt, b: UInt, polynomial: Int): UInt = {
    def double(x: UInt) = ((x << 1)(7, 0) ^ Mux(x(7), (polynomial & 0xff).U, 0.U))(7, 0)
    val powers = Seq.iterate(a, 8)(double)
    powers.zipWithIndex.map { case (power, i) => Mux(b(i), power, 0.U(8.W)) }.reduce(_ ^ _)
  }

  /** The inverse of `x`, which is its power 254; that of 0 is 0. */
  def inverse(x: UInt, polynomial: Int): UInt = {
    def times(a: UInt, b: UInt) = Field.times(a, b, polynomial)
    def square(a: UInt, times: Int): UInt =
      (0 until times).foldLeft(a)((power, _) => Field.times(power, power, polynomial))
    val two = square(x, 1)
    val three = times(two, x)
    val twelve = square(three, 2)
    times(times(square(times(twelve, three), 4), twelve), two)
  }
}
