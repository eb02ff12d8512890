package sallyport.crypto

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import javax.crypto.Cipher
import javax.crypto.spec.SecretKeySpec
import org.scalatest.funsuite.AnyFunSuite

class AesDecryptPipeSpec extends AnyFunSuite with ChiselSim {
  private case class Job(key: Array[Byte], block: Array[Byte], result: Array[Byte])

  private def job(key: Array[Byte], block: Array[Byte]): Job = {
    val cipher = Cipher.getInstance("AES/ECB/NoPadding")
    cipher.init(Cipher.DECRYPT_MODE, new SecretKeySpec(key, "AES"))
    Job(key, block, cipher.doFinal(block))
  }

  private def run(dut: AesDecryptPipe, jobs: Seq[Option[Job]]): Unit =
    PipeRun(dut, dut.io.in.valid, dut.io.out.valid, AesDecryptPipe.latency, jobs) { job =>
      dut.io.in.bits.block.poke(Bytes.toBigInt(job.block))
      dut.io.in.bits.key.poke(Bytes.toBigInt(AesKeys.last(job.key)))
      dut.io.in.bits.size.poke(AesKeySize.ofBytes(job.key.length))
    } { job =>
      assert(Bytes.toHex(Bytes.fromBigInt(dut.io.out.bits.peekValue().asBigInt, 16)) == Bytes.toHex(job.result))
    }

  test("FIPS-197 appendix C, then AES-128 and AES-256 mixed block by block, with gaps, against the JVM's cipher") {
    simulate(new AesDecryptPipe) { dut =>
      dut.io.wipe.poke(false)
      val block = Bytes.fromHex("00112233445566778899aabbccddeeff")
      val key = Array.tabulate(32)(_.toByte)
      run(
        dut,
        Seq(
          Some(Job(key.take(16), Bytes.fromHex("69c4e0d86a7b0430d8cdb78070b4c55a"), block)),
          Some(Job(key, Bytes.fromHex("8ea2b7ca516745bfeafc49904b496089"), block))
        )
      )
      val random = new scala.util.Random(3)
      run(
        dut,
        Seq.fill(900)(Option.when(random.nextInt(4) != 0) {
          job(Bytes.random(random, if (random.nextBoolean()) 16 else 32), Bytes.random(random, 16))
        })
      )
    }
  }

  test("every block of Wycheproof's valid AES-CBC cases with a key of 128 or 256 bits, decrypted") {
    val blocks = CbcVectors.blocks(Set(16, 32)).getOrElse(cancel(Wycheproof.absent))
    assert(blocks.map(_.id).distinct.size == 24, "the file holds other cases than this test was written for")
    simulate(new AesDecryptPipe) { dut =>
      dut.io.wipe.poke(false)
      run(dut, blocks.map(b => Some(Job(b.key, b.secret, b.plain))))
    }
  }
}
