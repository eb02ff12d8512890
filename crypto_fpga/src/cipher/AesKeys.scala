// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

/** What software computes of an AES key to decrypt with: FIPS-197 5.2 in plain integers. */
object AesKeys {

  /** The last words of the key schedule, as many as the key has. */
  def last(key: Array[Byte]): Array[Byte] = {
    val nk = key.length / 4
    def subWord(word: Seq[Byte]): Seq[Byte] = word.map(byte => Aes.sbox(byte & 0xff).toByte)
    val words = (nk until 4 * (nk + 7)).foldLeft(key.toSeq.grouped(4).toVector) { (w, i) =>
      val before = w(i - 1)
      val transformed =
        if (i % nk == 0) {
          val sub = subWord(before.tail :+ before.head)
          (sub.head ^ Aes.rcon(i / nk)).toByte +: sub.tail
        } else if (nk > 6 && i % nk == 4) subWord(before)
        else before
      w :+ w(i - nk).zip(transformed).map { case (a, b) => (a ^ b).toByte }
    }
    words.takeRight(nk).flatten.toArray
  }
}
