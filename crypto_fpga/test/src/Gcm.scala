package sallyport.crypto

import javax.crypto.Cipher
import javax.crypto.spec.{GCMParameterSpec, SecretKeySpec}

/** What software computes for a key row, and the JVM's AES-GCM as the reference. */
object Gcm {

  /** The suite of a key of so many bytes. */
  def suite(keyBytes: Int): Int =
    Map(16 -> Suite.aes128gcm16, 24 -> Suite.aes192gcm16, 32 -> Suite.aes256gcm16)(keyBytes)

  /** H = E(K, 0). */
  def hashKey(key: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("AES/ECB/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"))
    cipher.doFinal(new Array[Byte](16))
  }

  /** H · H. */
  def hashKey2(key: Array[Byte]): Array[Byte] = hashPowers(key).slice(16, 32)

  /** H, H^2, H^3, H^4: what a key row holds. */
  def hashPowers(key: Array[Byte]): Array[Byte] = {
    val h = BigInt(1, hashKey(key))
    val powers = Iterator.iterate(h)(multiply(_, h)).take(4)
    powers.flatMap(Bytes.fromBigInt(_, 16).reverse).toArray
  }

  /** Product in GF(2^128), bit by bit as NIST SP 800-38D 6.3 writes it. */
  private def multiply(x: BigInt, y: BigInt): BigInt = {
    val r = BigInt(0xe1) << 120
    val (product, _) = (127 to 0 by -1).foldLeft((BigInt(0), y)) { case ((z, v), bit) =>
      (if (x.testBit(bit)) z ^ v else z, if (v.testBit(0)) v >> 1 ^ r else v >> 1)
    }
    product
  }

  /** Ciphertext and tag. */
  def encrypt(key: Array[Byte], nonce: Array[Byte], aad: Array[Byte], text: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("AES/GCM/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, nonce))
    cipher.updateAAD(aad)
    cipher.doFinal(text)
  }
}
