// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.support

import javax.crypto.Cipher
import javax.crypto.spec.{GCMParameterSpec, SecretKeySpec}

/** The JVM's AES-GCM as the reference. */
object Gcm {

  /** H = E(K, 0). */
  def hashKey(key: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("AES/ECB/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"))
    cipher.doFinal(new Array[Byte](16))
  }

  /** Ciphertext and tag. */
  def encrypt(key: Array[Byte], nonce: Array[Byte], aad: Array[Byte], text: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("AES/GCM/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, nonce))
    cipher.updateAAD(aad)
    cipher.doFinal(text)
  }
}
