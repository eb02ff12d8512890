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
  def hashPowers(key: Array[Byte]): Array[Byte] = Ghash.powers(hashKey(key))

  /** Ciphertext and tag. */
  def encrypt(key: Array[Byte], nonce: Array[Byte], aad: Array[Byte], text: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("AES/GCM/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, nonce))
    cipher.updateAAD(aad)
    cipher.doFinal(text)
  }
}
