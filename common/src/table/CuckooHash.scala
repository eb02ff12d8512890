// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._

/**
 * The hashes of a cuckoo table (docs/reference/tables.md), for hardware and for Scala.
 *
 * Ways 0 and 1 use the low and high half of CRC-32C (Castagnoli) of the key's bytes, ways 2 and 3
 * those of CRC-32K (Koopman, polynomial 0x741B8CD7): both reflected, with initial value and final
 * XOR 0xFFFFFFFF. The key's bytes are little-endian from its low bit, its width rounded up to
 * bytes. A CRC is affine in the key, so each bit of it is the parity of the key under a mask and
 * a constant.
 */
object CuckooHash {
  val ways = 4

  /** Reflected polynomials of CRC-32C and CRC-32K. */
  private val polynomials = Seq(0x82f63b78L, 0xeb31d82eL)

  def crc(polynomial: Int, key: BigInt, keyBits: Int): Long = {
    val bytes = (0 until (keyBits + 7) / 8).map(n => ((key >> (8 * n)) & 0xff).toLong)
    val end = bytes.foldLeft(0xffffffffL) { (state, byte) =>
      (0 until 8).foldLeft(state ^ byte)((s, _) => (s >> 1) ^ ((s & 1) * polynomials(polynomial)))
    }
    end ^ 0xffffffffL
  }

  /** Row of `way` that `key` may be in. */
  def row(way: Int, key: BigInt, keyBits: Int, rowsPerWay: Int): Int =
    ((crc(way / 2, key, keyBits) >> (16 * (way % 2))) % rowsPerWay).toInt

  /** The same in hardware; `rowsPerWay` is a power of two of at most 2^16. About 3 LUT levels. */
  def row(way: Int, key: UInt, rowsPerWay: Int): UInt = {
    val keyBits = key.getWidth
    val constant = crc(way / 2, 0, keyBits)
    val columns = (0 until keyBits).map(n => crc(way / 2, BigInt(1) << n, keyBits) ^ constant)
    val bits = (0 until log2Ceil(rowsPerWay)).map(_ + 16 * (way % 2)).map { bit =>
      val mask = columns.zipWithIndex.map { case (column, n) => BigInt((column >> bit) & 1) << n }.sum
      (key & mask.U(keyBits.W)).xorR ^ ((constant >> bit) & 1).U(1.W)
    }
    Cat(bits.reverse)
  }
}
