// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.util._

/**
 * GF(2^128) of GCM (NIST SP 800-38D 6.3) as functions on hardware values.
 *
 * GCM numbers coefficients from the first bit on the wire, which is bit 7 of byte 0. With the bits
 * of each byte reversed (wires only) coefficient i is bit i, and multiplication is the ordinary one
 * modulo x^128 + x^7 + x^2 + x + 1. Values in this order are called polynomials here, and blocks as
 * they are on the wire blocks.
 */
object Gf128 {
  private val leaf = 32

  /** Block to polynomial, and back: reverses the bits within each byte. */
  def reflect(x: UInt): UInt = {
    def swap(x: UInt, by: Int, low: Int) = {
      val mask = Fill(16, low.U(8.W))
      ((x & mask) << by)(127, 0) | ((x >> by) & mask)
    }
    swap(swap(swap(x, 1, 0x55), 2, 0x33), 4, 0x0f)
  }

  /**
   * Karatsuba's operands of x, leaves of 32 bits: of 64 bits the low half, the high half and their
   * sum, and so on.
   */
  def leaves(x: UInt): Seq[UInt] = {
    val half = x.getWidth / 2
    if (half < leaf) Seq(x)
    else {
      val (low, high) = (x(half - 1, 0), x(2 * half - 1, half))
      Seq(low, high, low ^ high).flatMap(leaves)
    }
  }

  /** Carry-less product of two leaves: a row a bit of `b`. Rows are 64-bit words for Verilator. */
  def multiply(a: UInt, b: UInt): UInt = {
    val width = 2 * leaf - 1
    Seq.tabulate(leaf)(i => Fill(width, b(i)) & (a << i).pad(width)).reduce(_ ^ _)
  }

  /** The product of two numbers of `bits` bits from the products of their leaves. */
  def combine(products: Seq[UInt], bits: Int = 128): UInt = if (bits == leaf) products.head
  else {
    val half = bits / 2
    val Seq(low, high, middle) = products.grouped(products.size / 3).map(combine(_, half)).toSeq
    Cat(high, 0.U(1.W), low) ^ ((low ^ high ^ middle) << half)
  }

  /** The remainder of a product of 255 bits. */
  def reduce(x: UInt): UInt = {
    def fold(high: UInt) = high ^ (high << 1) ^ (high << 2) ^ (high << 7)
    val once = fold(x(254, 128))
    x(127, 0) ^ once(127, 0) ^ fold(once(133, 128)).pad(128)
  }
}
