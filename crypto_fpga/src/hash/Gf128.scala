// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.experimental.hierarchy.{Definition, Instance}
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

  /** Bits of a leaf of Karatsuba's recursion. Of 32 the products are larger, of 8 their sums. */
  private[hash] val leaf = 16

  /** Blocks to polynomials, and back: reverses the bits within each byte. */
  def reflect(x: UInt): UInt = {
    val width = x.getWidth
    def swap(x: UInt, by: Int, low: Int) = {
      val mask = Fill(width / 8, low.U(8.W))
      ((x & mask) << by)(width - 1, 0) | ((x >> by) & mask)
    }
    swap(swap(swap(x, 1, 0x55), 2, 0x33), 4, 0x0f)
  }

  /**
   * Karatsuba's operands of x, by leaves (Karatsuba and Ofman, Doklady 145, 1962): of two leaves
   * the low half, the high half and their sum, and so on.
   */
  def leaves(x: UInt): Seq[UInt] = {
    val half = x.getWidth / 2
    if (half < leaf) Seq(x)
    else {
      val (low, high) = (x(half - 1, 0), x(2 * half - 1, half))
      Seq(low, high, low ^ high).flatMap(leaves)
    }
  }

  /** Carry-less product of a leaf and the bits of `b`, each a row. */
  private[hash] def rows(a: UInt, b: UInt): UInt = {
    val width = leaf + b.getWidth - 1
    b.asBools.zipWithIndex.map { case (bit, i) => Fill(width, bit) & (a << i).pad(width) }.reduce(_ ^ _)
  }

  /** Carry-less product of two leaves: [[GfRows]], and the rows that are left. */
  def multiply(a: UInt, b: UInt)(implicit gfRows: Definition[GfRows]): UInt = {
    val whole = leaf - leaf % GfRows.count
    val groups = (0 until whole by GfRows.count).map { i =>
      val group = Instance(gfRows)
      group.io.a := a
      group.io.b := b(i + GfRows.count - 1, i)
      group.io.product << i
    }
    (groups :+ (rows(a, b(leaf - 1, whole)) << whole)).reduce(_ ^ _)
  }

  /**
   * The product of two numbers of `bits` bits from the products of their leaves, or of numbers
   * between the two.
   */
  def combine(products: Seq[UInt], bits: Int): UInt = if (products.size == 1) products.head
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

/**
 * Three rows of a product of leaves. Each bit is the sum of three products, which fill a LUT.
 *
 * It stays a module of its own: flattened before mapping, synthesis pulls the rows apart, and a
 * product of 128 bits takes 1.3 times the LUTs.
 */
class GfRows extends FixedIORawModule(new GfRowsPorts) {
  io.product := Gf128.rows(io.a, io.b)
}

class GfRowsPorts extends Bundle {
  val a = Input(UInt(Gf128.leaf.W))
  val b = Input(UInt(GfRows.count.W))
  val product = Output(UInt((Gf128.leaf + GfRows.count - 1).W))
}

object GfRows {
  val count = 3
}
