package sallyport.crypto

import javax.crypto.Cipher
import javax.crypto.spec.{GCMParameterSpec, SecretKeySpec}

/** What software computes for a key row, and the JVM's AES-GCM as the reference. */
object Gcm {

  /** H = E(K, 0). */
  def hashKey(key: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("AES/ECB/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"))
    cipher.doFinal(new Array[Byte](16))
  }

  /** H · H, bit by bit as NIST SP 800-38D 6.3 writes it. */
  def hashKey2(key: Array[Byte]): Array[Byte] = {
    val h = BigInt(1, hashKey(key))
    val r = BigInt(0xe1) << 120
    val (square, _) = (127 to 0 by -1).foldLeft((BigInt(0), h)) { case ((z, v), bit) =>
      (if (h.testBit(bit)) z ^ v else z, if (v.testBit(0)) v >> 1 ^ r else v >> 1)
    }
    Bytes.fromBigInt(square, 16).reverse
  }

  /** Ciphertext and tag. */
  def encrypt(key: Array[Byte], nonce: Array[Byte], aad: Array[Byte], text: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("AES/GCM/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, nonce))
    cipher.updateAAD(aad)
    cipher.doFinal(text)
  }
}
