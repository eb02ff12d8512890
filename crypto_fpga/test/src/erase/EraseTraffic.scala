// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.erase

import sallyport.common.stream.Packet
import sallyport.crypto.cipher.{AesKeys, Sm4Keys}
import sallyport.crypto.dispatch.LinkMetaValue
import sallyport.crypto.keys.{EspKeys, SaKeys}
import sallyport.crypto.lane.EspJob
import sallyport.crypto.suite.{AuthKind, CipherKind, Suite}
import sallyport.crypto.support.Bytes

import scala.util.Random

/**
 * A value that must not be found: byte 0 is lowest. `words` are told apart even alone; else 8
 * bytes are needed.
 */
case class Secret(name: String, bytes: Seq[Byte], words: Boolean = true)

/** An SA of one suite, the packets that use it both ways, and what they must not leave behind. */
class EraseTraffic(suite: Suite, index: Int, random: Random) {
  private val keys =
    SaKeys(EspKeys.random(random, suite), 0x9000 + index, esn = random.nextBoolean(), icv = random.nextInt(3))
  private val esp = keys.keys
  private val ivMask = BigInt(64, random)
  val outbound: BigInt = keys.outbound(ivMask)
  val inbound: BigInt = keys.inbound

  private val payloads = Seq.fill(EraseTraffic.packets)(Bytes.random(random, 1 + random.nextInt(400)).toSeq)
  private val jobs = payloads.indices.map { i =>
    val number = BigInt(i + 1)
    EspJob(esp, keys.icv, keys.spi, keys.esn, number.toLong, (number ^ ivMask).toLong, Nil, 4, index, 0).counterIv
  }
  private def beats(bytes: Seq[Byte]): Seq[BigInt] =
    Packet.toBeats(Packet(bytes, LinkMetaValue(bytes.length, index).bits), LinkMetaValue.width)

  /** The beats of each packet, from red, and of the same packets sealed, from black. */
  val red: Seq[Seq[BigInt]] = payloads.map(beats)
  val black: Seq[Seq[BigInt]] = jobs.zip(payloads).map { case (job, payload) => beats(job.seal(job.text(payload))) }

  def secrets: Seq[Secret] = {
    val expanded = suite.cipher match {
      case CipherKind.Aes(_) => Seq(AesKeys.last(esp.key.toArray).toSeq)
      case CipherKind.Sm4 => Seq(Sm4Keys.reversed(esp.key.toArray).toSeq)
      case _ => Nil
    }
    val schedule = (esp.key +: expanded).map(Secret(s"${suite.name}/key", _))
    val auth = Secret(s"${suite.name}/auth", esp.rowAuth.toSeq)
    val ofPackets = jobs.zip(payloads).flatMap { case (job, payload) =>
      val nonce = (esp.salt ++ iv(job)).take(8)
      Secret(s"${suite.name}/salt", nonce, words = false) +: (mask(job).toSeq ++ stream(job, payload))
    }
    schedule ++ (auth +: ofPackets)
  }

  private def iv(job: EspJob): Seq[Byte] = Seq.tabulate(8)(i => (job.iv >> (56 - 8 * i)).toByte)

  /** GCM's E(K, J0). */
  private def mask(job: EspJob): Option[Secret] =
    Option.when(suite.auth == AuthKind.Ghash || suite.auth == AuthKind.Gmac) {
      val block = (esp.salt ++ iv(job) ++ Seq[Byte](0, 0, 0, 1)).toArray
      esp.blockCipher.processBlock(block, 0, block, 0)
      Secret(s"${suite.name}/mask", block.toSeq)
    }

  /** The key stream, where text and ciphertext give it away. */
  private def stream(job: EspJob, payload: Seq[Byte]): Option[Secret] =
    Option.unless(suite.cbc || suite.cipher == CipherKind.None || suite.auth == AuthKind.Gmac) {
      val text = job.text(payload)
      val cipherText = job.seal(text).slice(suite.headBytes, suite.headBytes + text.length)
      val key = text.zip(cipherText).map { case (a, b) => (a ^ b).toByte }
      Secret(s"${suite.name}/stream", key, words = false)
    }
}

object EraseTraffic {

  /** Packets of an SA in each direction. */
  val packets: Int = 6
}
