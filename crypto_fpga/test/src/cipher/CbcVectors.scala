// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import sallyport.crypto.support.Wycheproof

/**
 * Wycheproof's valid cases of AES-CBC with PKCS #5 padding, taken apart into blocks of
 * the cipher.
 */
object CbcVectors {

  /** The cipher takes `plain` (text and chain added) to `secret`. */
  case class Block(id: Int, key: Array[Byte], plain: Array[Byte], secret: Array[Byte])

  private val file = "aes_cbc_pkcs5.json"

  /** Of keys of so many bytes; none without the file. */
  def blocks(keyBytes: Set[Int]): Option[Seq[Block]] = Wycheproof.load(file).map { all =>
    all.filter(c => c.valid && keyBytes(c.key.length)).flatMap { c =>
      val pad = 16 - c.msg.length % 16
      val texts = (c.msg ++ Array.fill(pad)(pad.toByte)).grouped(16).toSeq
      val secrets = c.ct.grouped(16).toSeq
      require(texts.size == secrets.size, s"tcId ${c.id}")
      texts.lazyZip(secrets).lazyZip(c.iv +: secrets).map { (text, secret, chain) =>
        Block(c.id, c.key, text.zip(chain).map { case (a, b) => (a ^ b).toByte }, secret)
      }.toSeq
    }
  }
}
