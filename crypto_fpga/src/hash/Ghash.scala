// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

/** GHASH bit by bit, as NIST SP 800-38D 6.3 and 6.4 write it. */
object Ghash {

  /** Product of two blocks; the first bit of a block is the most significant of the number. */
  private def times(x: BigInt, y: BigInt): BigInt = {
    val r = BigInt(0xe1) << 120
    (127 to 0 by -1).foldLeft((BigInt(0), y)) { case ((z, v), bit) =>
      (if (x.testBit(bit)) z ^ v else z, if (v.testBit(0)) v >> 1 ^ r else v >> 1)
    }._1
  }

  private def number(block: Array[Byte]): BigInt = BigInt(1, block)
  private def block(x: BigInt): Array[Byte] = Array.tabulate(16)(i => (x >> (8 * (15 - i))).toByte)

  /** H, H^2, H^3, H^4 as the key row has them. */
  def powers(h: Array[Byte]): Array[Byte] =
    Iterator.iterate(number(h))(times(_, number(h))).take(4).flatMap(block).toArray

  def hash(h: Array[Byte], blocks: Seq[Array[Byte]]): Array[Byte] =
    block(blocks.foldLeft(BigInt(0))((y, x) => times(y ^ number(x), number(h))))

  def xor(a: Array[Byte], b: Array[Byte]): Array[Byte] = a.zip(b).map { case (x, y) => (x ^ y).toByte }
}
