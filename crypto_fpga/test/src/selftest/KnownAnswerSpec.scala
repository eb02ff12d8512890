// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import org.scalatest.funsuite.AnyFunSuite
import sallyport.crypto.keys.EspKeys
import sallyport.crypto.lane.EspJob
import sallyport.crypto.suite.{CipherKind, Suite}
import sallyport.crypto.support.Bytes

class KnownAnswerSpec extends AnyFunSuite {

  private def hex(text: String): Seq[Byte] = Bytes.fromHex(text).toSeq

  test("what OpenSSL made of the payload is what Bouncy Castle makes of it, suite by suite") {
    assert(KnownAnswerList.all.map(_.suite) == Suite.all)
    for (answer <- KnownAnswerList.all) {
      val key = hex(KnownAnswerList.key)
      val size = answer.suite.cipher match {
        case CipherKind.None => 0
        case CipherKind.Aes(bits) => bits / 8
        case CipherKind.Sm4 => 16
        case CipherKind.ChaCha20 => 32
      }
      val keys = EspKeys(answer.suite, key.take(size), hex(KnownAnswerList.salt), hex(KnownAnswerList.authKey))
      val job = EspJob(
        keys,
        KnownAnswer.icv,
        BigInt(KnownAnswerList.spi, 16).toLong,
        esn = true,
        BigInt(KnownAnswerList.sequence, 16).toLong,
        BigInt(KnownAnswerList.iv, 16).toLong,
        Seq(),
        KnownAnswerList.nextHeader,
        sa = 0,
        tos = 0
      ).counterIv
      val made = job.seal(job.text(KnownAnswer.payload.toSeq))
      assert(Bytes.toHex(made.toArray) == answer.packet, answer.suite.name)
      assert(answer.auth.toSeq == keys.rowAuth.toSeq, answer.suite.name)
      assert(answer.key(encrypt = false).take(size).toSeq == keys.rowKey(inbound = true).toSeq, answer.suite.name)
    }
  }
}
