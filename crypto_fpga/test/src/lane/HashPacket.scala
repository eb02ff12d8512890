// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import org.bouncycastle.crypto.digests.SM3Digest
import org.bouncycastle.crypto.macs.HMac
import org.bouncycastle.crypto.params.KeyParameter
import sallyport.crypto.hash.{HashComputation, HashKind}
import sallyport.crypto.support.Bytes

import javax.crypto.{Cipher, Mac}
import javax.crypto.spec.{ChaCha20ParameterSpec, IvParameterSpec, SecretKeySpec}

/**
 * A packet for the engine of the chained hashes, with the tag that the JVM or Bouncy Castle
 * gives it.
 *
 * @param bytes
 *   ESP header, IV and ciphertext
 * @param head
 *   the block that Poly1305 takes for the first 16 bytes
 * @param auth
 *   HMAC: inner and outer state; Poly1305: r and s
 */
case class HashPacket(
    kind: HashKind.Type,
    bytes: Array[Byte],
    esn: Boolean,
    sequenceHigh: Array[Byte],
    head: Array[Byte],
    auth: Array[Byte],
    tag: Array[Byte]
)

object HashPacket {

  /** A random packet of `size` bytes; at least 20 under Poly1305. */
  def random(random: scala.util.Random, kind: HashKind.Type, size: Int, esn: Boolean): HashPacket = {
    val sequenceHigh = Bytes.random(random, 4)
    val key = Bytes.random(random, 32)
    if (kind == HashKind.poly1305) poly(random, key, size, esn, sequenceHigh)
    else {
      val bytes = Bytes.random(random, size)
      val message = if (esn) bytes ++ sequenceHigh else bytes
      val (hash, tag) = hmac(kind, key, message)
      HashPacket(kind, bytes, esn, sequenceHigh, Bytes.random(random, 16), hash.auth(key), tag)
    }
  }

  private def hmac(kind: HashKind.Type, key: Array[Byte], message: Array[Byte]) = {
    def jvm(name: String) = {
      val mac = Mac.getInstance(name)
      mac.init(new SecretKeySpec(key, name))
      mac.doFinal(message)
    }
    if (kind == HashKind.sha256) (HashComputation.sha256, jvm("HmacSHA256"))
    else if (kind == HashKind.sha1) (HashComputation.sha1, jvm("HmacSHA1"))
    else {
      val mac = new HMac(new SM3Digest)
      mac.init(new KeyParameter(key))
      mac.update(message, 0, message.length)
      val tag = new Array[Byte](mac.getMacSize)
      mac.doFinal(tag, 0)
      (HashComputation.sm3, tag)
    }
  }

  /**
   * ESP under ChaCha20-Poly1305 (RFC 7634): SPI, sequence number and IV of 8 bytes, then
   * ciphertext.
   */
  private def poly(
      random: scala.util.Random,
      key: Array[Byte],
      size: Int,
      esn: Boolean,
      sequenceHigh: Array[Byte]
  ): HashPacket = {
    val header = Bytes.random(random, 16)
    val nonce = Bytes.random(random, 12)
    val aad = header.take(4) ++ (if (esn) sequenceHigh else Array.empty[Byte]) ++ header.slice(4, 8)
    val secret = new SecretKeySpec(key, "ChaCha20")
    val stream = Cipher.getInstance("ChaCha20")
    stream.init(Cipher.ENCRYPT_MODE, secret, new ChaCha20ParameterSpec(nonce, 0))
    val aead = Cipher.getInstance("ChaCha20-Poly1305")
    aead.init(Cipher.ENCRYPT_MODE, secret, new IvParameterSpec(nonce))
    aead.updateAAD(aad)
    val (text, tag) = aead.doFinal(Bytes.random(random, size - 16)).splitAt(size - 16)
    val oneTimeKey = stream.doFinal(new Array[Byte](32))
    HashPacket(HashKind.poly1305, header ++ text, esn, sequenceHigh, aad.padTo(16, 0.toByte), oneTimeKey, tag)
  }
}
