// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

/** What software computes of an SM4 key to decrypt with: GB/T 32907-2016 7.3 in plain integers. */
object Sm4Keys {
  private def step(k: Seq[Int], i: Int): Int = {
    val a = k(1) ^ k(2) ^ k(3) ^ Sm4.ck(i).toInt
    val b = (0 until 4).map(j => Sm4.sbox(a >>> (8 * j) & 0xff) << (8 * j)).reduce(_ | _)
    k(0) ^ b ^ Integer.rotateLeft(b, 13) ^ Integer.rotateLeft(b, 23)
  }

  /** K39, K38, K37, K36 of the key expansion continued by four steps. */
  def reversed(key: Array[Byte]): Array[Byte] = {
    val start = key.grouped(4).toSeq.zip(Sm4.fk).map { case (bytes, fk) => (BigInt(1, bytes) ^ fk).toInt }
    val last = (0 until 36).foldLeft(start)((k, i) => k.tail :+ step(k, i))
    last.reverse.flatMap(word =>
      BigInt(word & 0xffffffffL).toByteArray.reverse.padTo(4, 0.toByte).take(4).reverse
    ).toArray
  }
}
