// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import sallyport.crypto.cipher.{AesKeys, Sm4Keys}
import sallyport.crypto.hash.{Compression, Ghash}
import sallyport.crypto.suite.{AuthKind, CipherKind, Suite}

/**
 * The ESP packet that OpenSSL makes with a suite of [[KnownAnswerList]]'s payload.
 *
 * @param number
 *   of the suite
 * @param hashKey
 *   GHASH's, in hexadecimal; empty for suites without
 * @param packet
 *   in hexadecimal
 */
private[crypto] case class KnownAnswer(number: Int, hashKey: String, packet: String) {
  import KnownAnswer._

  val suite: Suite = Suite.all.find(_.number == number).get
  def bytes: Array[Byte] = fromHex(packet)

  /** The key as a lane wants it. */
  def key(encrypt: Boolean): Array[Byte] = {
    val whole = fromHex(KnownAnswerList.key)
    suite.cipher match {
      case CipherKind.Aes(bits) if suite.cbc && !encrypt => AesKeys.last(whole.take(bits / 8))
      case CipherKind.Sm4 if suite.cbc && !encrypt => Sm4Keys.reversed(whole.take(16))
      case _ => whole
    }
  }

  /** [[sallyport.crypto.lane.LaneJob.auth]]. */
  def auth: Array[Byte] = suite.auth match {
    case AuthKind.Ghash | AuthKind.Gmac => Ghash.powers(fromHex(hashKey))
    case AuthKind.Poly1305 => Array()
    case AuthKind.Hmac(hash) => Compression.hmacStates(hash, fromHex(KnownAnswerList.authKey))
  }
}

private[crypto] object KnownAnswer {

  /** Index of the ICV's length, 16 bytes, where a suite leaves it open. */
  val icv: Int = Suite.icvBytes.indexOf(16)

  def fromHex(hex: String): Array[Byte] = hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
  val payload: Array[Byte] = fromHex(KnownAnswerList.payload)

  def of(suite: Suite): KnownAnswer = KnownAnswerList.all.find(_.number == suite.number).getOrElse(
    throw new IllegalArgumentException(s"${suite.name} has no known answer: run make regs")
  )
}
