// SPDX-License-Identifier: Apache-2.0
package sallyport.common.arithmetic

import chisel3._
import chisel3.util._

/**
 * A reflected CRC as a matrix over GF(2): many bits a step, each result bit one parity of
 * masked inputs.
 *
 * Bit 0 of the data is the first on the wire, as in Ethernet and zlib. States are raw: the caller
 * applies the initial value and the final XOR.
 *
 * @param width bits of the CRC
 * @param polynomial in reflected notation, e.g. 0xEDB88320 for IEEE 802.3
 */
case class Crc(width: Int, polynomial: Long) {

  /** `state` after the bits of `data`, bit by bit: for elaboration and for tests. */
  def reference(state: Long, data: BigInt, bits: Int): Long =
    (0 until bits).foldLeft(state) { (s, i) =>
      val feedback = (s & 1) ^ (if (data.testBit(i)) 1 else 0)
      (s >>> 1) ^ (if (feedback != 0) polynomial else 0)
    }

  private def rows(columns: Seq[Long]): Seq[BigInt] =
    (0 until width).map(row =>
      columns.zipWithIndex.collect { case (c, i) if (c >> row & 1) == 1 => BigInt(1) << i }.foldLeft(BigInt(0))(_ | _)
    )

  /** Masks of the old state, one a result bit, after `bits` bits of data. */
  def stateRows(bits: Int): Seq[BigInt] = rows((0 until width).map(i => reference(1L << i, 0, bits)))

  /** Masks of the data, one a result bit, for `bits` bits of data. */
  def dataRows(bits: Int): Seq[BigInt] = {
    // Column i is what a one at bit i leaves after the bits behind it.
    val fromLast = Iterator.iterate(reference(0, 1, 1))(s => reference(s, 0, 1)).take(bits).toSeq
    rows(fromLast.reverse)
  }

  /** What `state` becomes over `bits` bits of zeros. */
  def advance(state: UInt, bits: Int): UInt = Crc.multiply(stateRows(bits), state)

  /** What `data` adds to the state. */
  def contribution(data: UInt, bits: Int): UInt = Crc.multiply(dataRows(bits), data)
}

object Crc {

  /** IEEE 802.3, zlib's `crc32`: initial value and final XOR are all ones. */
  val ieee: Crc = Crc(32, 0xedb88320L)

  /** CRC-4-ITU: initial value and final XOR are zero. */
  val itu4: Crc = Crc(4, 0xc)

  /** Parity of `x & mask`, folded in 64-bit words. */
  def parity(x: UInt, mask: BigInt): Bool = {
    val words =
      (0 until (mask.bitLength + 63) / 64).map(i => (i, mask >> (64 * i) & ((BigInt(1) << 64) - 1))).filter(_._2 != 0)
    if (words.isEmpty) false.B
    else words.map { case (i, m) => x(64 * i + m.bitLength - 1, 64 * i) & m.U }.reduce(_ ^ _).xorR
  }

  /** Matrix times vector: bit i of the result is the parity of `x & rows(i)`. */
  def multiply(rows: Seq[BigInt], x: UInt): UInt = Cat(rows.map(parity(x, _)).reverse)
}
