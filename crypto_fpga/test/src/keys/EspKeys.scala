// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import org.bouncycastle.crypto.digests.{SHA1Digest, SHA256Digest, SM3Digest}
import org.bouncycastle.crypto.engines.{AESEngine, SM4Engine}
import org.bouncycastle.crypto.params.KeyParameter
import org.bouncycastle.crypto.{BlockCipher, Digest}
import sallyport.crypto.cipher.{AesKeys, Sm4Keys}
import sallyport.crypto.hash.{Compression, Ghash, HashKind}
import sallyport.crypto.suite.{AuthKind, CipherKind, Suite}
import sallyport.crypto.support.Bytes

/**
 * The keys of one SA, and what software makes of them for a key row.
 *
 * @param salt
 *   4 bytes; ignored by suites without
 * @param authKey
 *   of HMAC; empty for suites without
 */
case class EspKeys(suite: Suite, key: Seq[Byte], salt: Seq[Byte], authKey: Seq[Byte]) {
  import CipherKind._

  def blockCipher: BlockCipher = {
    val cipher = if (suite.cipher == Sm4) new SM4Engine else AESEngine.newInstance()
    cipher.init(true, new KeyParameter(key.toArray))
    cipher
  }

  def digest: Digest = suite.auth match {
    case AuthKind.Hmac(HashKind.sha256) => new SHA256Digest
    case AuthKind.Hmac(HashKind.sha1) => new SHA1Digest
    case AuthKind.Hmac(HashKind.sm3) => new SM3Digest
    case other => throw new IllegalArgumentException(s"$other has no digest")
  }

  /** `key` of the row. */
  def rowKey(inbound: Boolean): Array[Byte] = suite.cipher match {
    case Aes(_) if inbound && suite.cbc => AesKeys.last(key.toArray)
    case Sm4 if inbound && suite.cbc => Sm4Keys.reversed(key.toArray)
    case _ => key.toArray
  }

  /** `auth` of the row. */
  def rowAuth: Array[Byte] = suite.auth match {
    case AuthKind.Ghash | AuthKind.Gmac =>
      val h = new Array[Byte](16)
      blockCipher.processBlock(h, 0, h, 0)
      Ghash.powers(h)
    case AuthKind.Poly1305 => Array()
    case AuthKind.Hmac(hash) => Compression.hmacStates(hash, authKey.toArray)
  }
}

object EspKeys {
  def random(random: scala.util.Random, suite: Suite): EspKeys = EspKeys(
    suite,
    Bytes.random(
      random,
      suite.cipher match {
        case CipherKind.None => 0
        case CipherKind.Aes(bits) => bits / 8
        case CipherKind.Sm4 => 16
        case CipherKind.ChaCha20 => 32
      }
    ).toSeq,
    Bytes.random(random, 4).toSeq,
    if (suite.hmac) Bytes.random(random, 32).toSeq else Seq()
  )
}
