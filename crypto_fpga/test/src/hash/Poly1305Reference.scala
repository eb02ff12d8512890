// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import sallyport.crypto.support.Bytes

import javax.crypto.Cipher
import javax.crypto.spec.{ChaCha20ParameterSpec, SecretKeySpec}

/** Poly1305 on integers as RFC 8439 2.5.1 writes it, and what 2.8 authenticates. */
object Poly1305Reference {
  val p: BigInt = (BigInt(1) << 130) - 5
  private val clamp = BigInt("0ffffffc0ffffffc0ffffffc0fffffff", 16)

  def number(bytes: Array[Byte]): BigInt = Bytes.toBigInt(bytes)

  /** A block of up to 16 bytes with the bit behind it. */
  def marked(block: Array[Byte]): BigInt = number(block) + (BigInt(1) << (8 * block.length))

  def absorb(acc: BigInt, r: BigInt, block: BigInt): BigInt = (acc + block) * (r & clamp) % p

  def tag(acc: BigInt, s: BigInt): Array[Byte] = Bytes.fromBigInt((acc % p + s) % (BigInt(1) << 128), 16)

  def mac(key: Array[Byte], message: Array[Byte]): Array[Byte] = {
    val (r, s) = (number(key.take(16)), number(key.drop(16)))
    tag(message.grouped(16).map(marked).foldLeft(BigInt(0))(absorb(_, r, _)), s)
  }

  /** The first 32 bytes of the JVM's key stream, block 0 (RFC 8439 2.6). */
  def oneTimeKey(key: Array[Byte], nonce: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("ChaCha20")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "ChaCha20"), new ChaCha20ParameterSpec(nonce, 0))
    cipher.doFinal(new Array[Byte](32))
  }

  /**
   * Associated data and ciphertext, each padded to whole blocks, and their lengths (RFC
   * 8439 2.8).
   */
  def aeadMessage(aad: Array[Byte], text: Array[Byte]): Array[Byte] = {
    def padded(bytes: Array[Byte]) = bytes.padTo((bytes.length + 15) / 16 * 16, 0.toByte)
    padded(aad) ++ padded(text) ++ Bytes.fromBigInt(BigInt(aad.length), 8) ++ Bytes.fromBigInt(BigInt(text.length), 8)
  }
}
