// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.support.{Bytes, PipeRun, Wycheproof}

import javax.crypto.Cipher
import javax.crypto.spec.{ChaCha20ParameterSpec, SecretKeySpec}

class ChaChaPipeSpec extends AnyFunSuite with CompiledOnce {

  /** `stream` may be shorter than a block. */
  private case class Job(key: Array[Byte], nonce: Array[Byte], counter: Int, stream: Array[Byte])

  private def job(key: Array[Byte], nonce: Array[Byte], counter: Int): Job = {
    val cipher = Cipher.getInstance("ChaCha20")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "ChaCha20"), new ChaCha20ParameterSpec(nonce, counter))
    Job(key, nonce, counter, cipher.doFinal(new Array[Byte](64)))
  }

  /** The blocks that take `plain` to `secret`, with counters from 1 on. */
  private def blocks(key: Array[Byte], nonce: Array[Byte], plain: Array[Byte], secret: Array[Byte]): Seq[Job] =
    plain.zip(secret).map { case (a, b) => (a ^ b).toByte }.grouped(64).zipWithIndex.map { case (stream, i) =>
      Job(key, nonce, 1 + i, stream)
    }.toSeq

  /** A job, or none, every 4 cycles. */
  private def run(dut: ChaChaPipe, jobs: Seq[Option[Job]]): Unit =
    PipeRun(dut, dut.io.in.valid, dut.io.out.valid, ChaChaPipe.latency, jobs.flatMap(_ +: Seq.fill(3)(None))) { job =>
      dut.io.in.bits.key.poke(Bytes.toBigInt(job.key))
      dut.io.in.bits.nonce.poke(Bytes.toBigInt(job.nonce))
      dut.io.in.bits.counter.poke(job.counter & 0xffffffffL)
    } { job =>
      val stream = Bytes.fromBigInt(dut.io.out.bits.peekValue().asBigInt, 64)
      assert(Bytes.toHex(stream.take(job.stream.length)) == Bytes.toHex(job.stream))
    }

  test("RFC 8439 2.3.2 and 2.4.2, then random blocks, with gaps and in each phase, against the JVM's cipher") {
    simulate(new ChaChaPipe) { dut =>
      dut.io.wipe.poke(false)
      val key = Array.tabulate(32)(_.toByte)
      val stream = Bytes.fromHex(
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e" +
          "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
      )
      val text =
        "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
      val secret = Bytes.fromHex(
        "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0bf91b65c5524733ab8f593dabcd62b357" +
          "1639d624e65152ab8f530c359f0861d807ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736" +
          "5af90bbf74a35be6b40b8eedf2785e42874d"
      )
      run(
        dut,
        (Job(key, Bytes.fromHex("000000090000004a00000000"), 1, stream) +:
          blocks(key, Bytes.fromHex("000000000000004a00000000"), text.getBytes, secret)).map(Some(_))
      )
      val random = new scala.util.Random(5)
      for (phase <- 0 until 4) {
        run(
          dut,
          Seq.fill(120)(Option.when(random.nextInt(8) != 0) {
            job(Bytes.random(random, 32), Bytes.random(random, 12), random.nextInt())
          })
        )
        dut.clock.step(phase)
      }
    }
  }

  test("the key stream of every valid Wycheproof case of ChaCha20-Poly1305 with a 96-bit nonce") {
    val cases = Wycheproof.load("chacha20_poly1305.json") match {
      case Some(all) => all.filter(c => c.valid && c.iv.length == 12)
      case None => cancel(Wycheproof.absent)
    }
    assert(cases.size == 128, "the file holds other cases than this test was written for")
    simulate(new ChaChaPipe) { dut =>
      dut.io.wipe.poke(false)
      run(dut, cases.flatMap(c => blocks(c.key, c.iv, c.msg, c.ct)).map(Some(_)))
    }
  }

  test("a wipe forgets what is inside, and the pipe works on") {
    simulate(new ChaChaPipe) { dut =>
      val random = new scala.util.Random(6)
      val next = job(Bytes.random(random, 32), Bytes.random(random, 12), 7)
      dut.io.wipe.poke(false)
      dut.io.in.valid.poke(true)
      dut.io.in.bits.key.poke(1)
      dut.clock.step()
      dut.io.in.valid.poke(false)
      dut.clock.step(14)
      dut.io.wipe.poke(true)
      for (_ <- 0 until ChaChaPipe.latency) {
        dut.clock.step()
        dut.io.out.valid.expect(false)
      }
      // Zeros everywhere but for the constants of the final addition.
      dut.io.out.bits.expect(Bytes.toBigInt("expand 32-byte k".getBytes))
      dut.io.wipe.poke(false)
      run(dut, Seq(Some(next)))
    }
  }
}
