package sallyport.crypto

import chisel3._
import chisel3.util._

/**
 * GF(2^128) of GCM (NIST SP 800-38D 6.3) as functions on hardware values.
 *
 * GCM numbers coefficients from the first bit on the wire, which is bit 7 of byte 0. With the bits of each byte
 * reversed (wires only) coefficient i is bit i, and multiplication is the ordinary one modulo x^128 + x^7 + x^2 +
 * x + 1. Values in this order are called polynomials here, and blocks as they are on the wire blocks.
 */
object Gf128 {

  /** Block to polynomial, and back: reverses the bits within each byte. */
  def reflect(x: UInt): UInt = {
    def swap(x: UInt, by: Int, low: Int) = {
      val mask = Fill(16, low.U(8.W))
      ((x & mask) << by)(127, 0) | ((x >> by) & mask)
    }
    swap(swap(swap(x, 1, 0x55), 2, 0x33), 4, 0x0f)
  }

  /**
   * Carry-less product of two words of n bits, 2n - 1 bits, by Karatsuba's rule down to leaves of `leaf` bits.
   *
   * @param cut
   *   what stands between the leaves' products and their sum: a register, in a pipeline
   */
  def product(a: UInt, b: UInt, leaf: Int = 32)(cut: UInt => UInt = identity): UInt = {
    val n = a.getWidth
    require(
      b.getWidth == n && n % leaf == 0,
      s"a product of ${n} by ${b.getWidth} bits does not divide into leaves of $leaf"
    )
    if (n == leaf) {
      cut(rows(a, b))
    } else {
      val half = n / 2
      def split(x: UInt) = (x(half - 1, 0), x(n - 1, half))
      val ((a0, a1), (b0, b1)) = (split(a), split(b))
      val low = product(a0, b0, leaf)(cut)
      val high = product(a1, b1, leaf)(cut)
      val middle = product(a0 ^ a1, b0 ^ b1, leaf)(cut)
      Cat(high, 0.U(1.W), low) ^ ((low ^ high ^ middle) << half)
    }
  }

  /** Schoolbook product: a row a bit of `b`. Leaves of 32 bits keep the rows in 64-bit words for Verilator. */
  private def rows(a: UInt, b: UInt): UInt = {
    val width = a.getWidth + b.getWidth - 1
    Seq.tabulate(b.getWidth)(i => Fill(width, b(i)) & (a << i).pad(width)).reduce(_ ^ _)
  }

  /** The remainder of a product of 255 bits. */
  def reduce(x: UInt): UInt = {
    def fold(high: UInt) = high ^ (high << 1) ^ (high << 2) ^ (high << 7)
    val once = fold(x(254, 128))
    x(127, 0) ^ once(127, 0) ^ fold(once(133, 128)).pad(128)
  }
}
