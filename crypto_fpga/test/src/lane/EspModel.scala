// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import org.bouncycastle.crypto.InvalidCipherTextException
import org.bouncycastle.crypto.macs.HMac
import org.bouncycastle.crypto.modes.{AEADCipher, ChaCha20Poly1305, GCMBlockCipher, SICBlockCipher}
import org.bouncycastle.crypto.params.{AEADParameters, KeyParameter, ParametersWithIV}
import sallyport.common.stream.Packet
import sallyport.crypto.keys.EspKeys
import sallyport.crypto.suite.{AuthKind, CipherKind, Suite}
import sallyport.crypto.support.Bytes

import scala.util.Random

/**
 * An SA's part in one packet, and ESP around Bouncy Castle's ciphers.
 *
 * @param icv
 *   index into [[Suite.icvBytes]], for the suites that leave it to the row
 * @param cbcIv
 *   16 bytes; what an encrypting peer that is not ours takes for CBC's IV
 */
case class EspJob(
    keys: EspKeys,
    icv: Int,
    spi: Long,
    esn: Boolean,
    sequence: Long,
    iv: Long,
    cbcIv: Seq[Byte],
    nextHeader: Int,
    sa: Int,
    tos: Int
) {
  import EspModel._
  val suite: Suite = keys.suite
  val icvBytes: Int = if (suite.icvByRow) Suite.icvBytes(icv) else suite.fixedIcvBytes

  private def header: Array[Byte] = number(spi, 4) ++ number(sequence & 0xffffffffL, 4)
  private def aad: Array[Byte] = number(spi, 4) ++ number(sequence, 8).drop(if (esn) 0 else 4)
  private def key = new KeyParameter(keys.key.toArray)
  private def nonce = keys.salt.toArray ++ number(iv, 8)

  /** The text of RFC 4303: payload, `padding`, its length, next header. */
  def text(payload: Seq[Byte], padding: Option[Seq[Byte]] = None, padLength: Option[Int] = None): Seq[Byte] = {
    val to = suite.padTo
    val pad = padding.getOrElse((1 to (to - (payload.length + 2) % to) % to).map(_.toByte))
    payload ++ pad ++ Seq(padLength.getOrElse(pad.length).toByte, nextHeader.toByte)
  }

  /** The same job with the IV of CBC as the encrypting lane makes it: its counter encrypted. */
  def counterIv: EspJob = if (!suite.cbc) this
  else {
    val block = number(iv, 8) ++ new Array[Byte](8)
    keys.blockCipher.processBlock(block, 0, block, 0)
    copy(cbcIv = block.toSeq)
  }

  /** The ESP packet of a text. */
  def seal(text: Seq[Byte]): Seq[Byte] = suite.auth match {
    case AuthKind.Ghash => header ++ number(iv, 8) ++ aead(GCMBlockCipher.newInstance(keys.blockCipher), aad, text)
    case AuthKind.Poly1305 => header ++ number(iv, 8) ++ aead(new ChaCha20Poly1305, aad, text)
    case AuthKind.Gmac =>
      val all = aad ++ number(iv, 8) ++ text
      header ++ number(iv, 8) ++ text ++ aead(GCMBlockCipher.newInstance(keys.blockCipher), all, Seq())
    case AuthKind.Hmac(_) =>
      val body = (header ++ ciphertext(text.toArray)).toArray
      val mac = new HMac(keys.digest)
      mac.init(new KeyParameter(keys.authKey.toArray))
      val covered = body ++ (if (esn) number(sequence >>> 32, 4) else Array[Byte]())
      mac.update(covered, 0, covered.length)
      val tag = new Array[Byte](mac.getMacSize)
      mac.doFinal(tag, 0)
      (body ++ tag.take(icvBytes)).toSeq
  }

  /**
   * Whether the ICV of an ESP packet of an AEAD suite is right for this key, SPI, number
   * and IV.
   */
  def isAuthentic(packet: Seq[Byte]): Boolean = {
    val (cipher, covered, text): (AEADCipher, Seq[Byte], Seq[Byte]) = suite.auth match {
      case AuthKind.Ghash => (GCMBlockCipher.newInstance(keys.blockCipher), aad.toSeq, packet.drop(suite.headBytes))
      case AuthKind.Poly1305 => (new ChaCha20Poly1305, aad.toSeq, packet.drop(suite.headBytes))
      case AuthKind.Gmac =>
        (
          GCMBlockCipher.newInstance(keys.blockCipher),
          aad.toSeq ++ packet.dropRight(icvBytes).drop(8),
          packet.takeRight(icvBytes)
        )
      case AuthKind.Hmac(_) => throw new IllegalArgumentException(s"${suite.name} is no AEAD suite")
    }
    cipher.init(false, new AEADParameters(key, 128, nonce, covered.toArray))
    val out = new Array[Byte](cipher.getOutputSize(text.length))
    try { cipher.doFinal(out, cipher.processBytes(text.toArray, 0, text.length, out, 0)); true }
    catch { case _: InvalidCipherTextException => false }
  }

  private def aead(cipher: AEADCipher, aad: Array[Byte], text: Seq[Byte]): Array[Byte] = {
    cipher.init(true, new AEADParameters(key, 128, nonce, aad))
    val out = new Array[Byte](cipher.getOutputSize(text.length))
    cipher.doFinal(out, cipher.processBytes(text.toArray, 0, text.length, out, 0))
    out
  }

  /** IV and ciphertext. */
  private def ciphertext(text: Array[Byte]): Array[Byte] = suite.cipher match {
    case CipherKind.None => text
    case _ if suite.cbc =>
      text.grouped(16).scanLeft(cbcIv.toArray) { (before, block) =>
        val mixed = before.zip(block).map { case (a, b) => (a ^ b).toByte }
        keys.blockCipher.processBlock(mixed, 0, mixed, 0)
        mixed
      }.toArray.flatten
    case _ =>
      val counter = SICBlockCipher.newInstance(keys.blockCipher)
      counter.init(true, new ParametersWithIV(key, nonce ++ number(1, 4)))
      val out = new Array[Byte](text.length)
      counter.processBytes(text, 0, text.length, out, 0)
      number(iv, 8) ++ out
  }

  /** As the bits of [[LaneJob]], in the order of its fields, and of [[LaneResult]]. */
  def jobBits(length: Int, inbound: Boolean): BigInt = pack(
    (BigInt(suite.number), Suite.laneBits),
    (BigInt(icv), Suite.icvBits),
    (Bytes.toBigInt(keys.rowKey(inbound)), 256),
    (Bytes.toBigInt(keys.rowAuth), 512),
    (Bytes.toBigInt(keys.salt.toArray), 32),
    (BigInt(if (esn) 1 else 0), 1),
    (unsigned(sequence), 64),
    (unsigned(iv), 64),
    (BigInt(spi), 32),
    metaBits(length, nextHeader)
  )

  def resultBits(verdict: Verdict.Type, length: Int, nextHeader: Int = this.nextHeader): BigInt =
    pack((verdict.litValue, Verdict.getWidth), metaBits(length, nextHeader))

  private def metaBits(length: Int, nextHeader: Int): (BigInt, Int) = {
    val fields = Seq[(BigInt, Int)](
      (BigInt(length), 14),
      (BigInt(sa), 16),
      (BigInt(0), 4), // bypass, transport, moved, df
      (BigInt(tos), 8),
      (BigInt(nextHeader), 8),
      (BigInt(3), 8), // peerTag
      (unsigned(sequence), 64)
    )
    (pack(fields: _*), fields.map(_._2).sum)
  }
}

object EspModel {
  private[crypto] def number(x: Long, size: Int): Array[Byte] =
    Array.tabulate(size)(i => (x >> (8 * (size - 1 - i))).toByte)
  private[crypto] def unsigned(x: Long): BigInt = BigInt(java.lang.Long.toUnsignedString(x))

  /** Where the lowest bit of the SA is in the metadata. */
  val saBit: Int = 92

  /** Fields of a bundle, the first in the highest bits, as Chisel packs them. */
  def pack(fields: (BigInt, Int)*): BigInt = fields.foldLeft(BigInt(0)) { case (bits, (value, width)) =>
    require(value.bitLength <= width, s"$value does not fit $width bits")
    bits << width | value
  }

  /** A job of any of the suites. Its SA number tells its class: odd is fast. */
  def randomJob(random: Random, suites: Seq[Suite]): EspJob = {
    val suite = suites(random.nextInt(suites.size))
    EspJob(
      EspKeys.random(random, suite),
      icv = random.nextInt(Suite.icvBytes.size),
      spi = random.nextInt() & 0xffffffffL,
      esn = random.nextBoolean(),
      sequence = random.nextLong(),
      iv = random.nextLong(),
      cbcIv = Bytes.random(random, 16).toSeq,
      nextHeader = 4,
      sa = random.nextInt(1 << 14) * 2 + (if (suite.fast) 1 else 0),
      tos = random.nextInt(256)
    )
  }

  /** What a lane sends in place of a packet it refuses. */
  def refused(meta: BigInt): Packet = Packet(Seq(0.toByte), meta, error = true)
}
