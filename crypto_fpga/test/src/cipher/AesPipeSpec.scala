// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.support.{Bytes, Wycheproof}

import javax.crypto.Cipher
import javax.crypto.spec.SecretKeySpec
import scala.collection.mutable

class AesPipeSpec extends AnyFunSuite with CompiledOnce {

  private case class Job(key: Array[Byte], block: Array[Byte], result: Array[Byte], inverse: Boolean = false) {

    /** The same the other way. */
    def back: Job = Job(key, result, block, !inverse)
  }

  private def job(key: Array[Byte], block: Array[Byte]): Job = {
    val cipher = Cipher.getInstance("AES/ECB/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"))
    Job(key, block, cipher.doFinal(block))
  }

  /** FIPS-197 appendix C, with keys of 128, 192 and 256 bits. */
  private val appendixC: Seq[Job] = {
    val block = Bytes.fromHex("00112233445566778899aabbccddeeff")
    val key = Array.tabulate(32)(_.toByte)
    Seq(
      Job(key.take(16), block, Bytes.fromHex("69c4e0d86a7b0430d8cdb78070b4c55a")),
      Job(key.take(24), block, Bytes.fromHex("dda97ca4864cdfe06eaf70a0ec0d7191")),
      Job(key, block, Bytes.fromHex("8ea2b7ca516745bfeafc49904b496089"))
    )
  }

  /**
   * Puts one block (or none) a cycle in, and checks each block that comes out, its time and
   * its tag.
   */
  private def run(dut: AesPipe[UInt], blocks: Seq[Option[Job]]): Unit = {
    val expected = mutable.Queue.empty[(Int, Int, Array[Byte])]
    for ((entry, cycle) <- (blocks ++ Seq.fill(AesPipe.latency)(None)).zipWithIndex) {
      dut.io.in.valid.poke(entry.isDefined)
      for (job <- entry) {
        dut.io.in.bits.block.poke(Bytes.toBigInt(job.block))
        dut.io.in.bits.key.poke(Bytes.toBigInt(if (job.inverse) AesKeys.last(job.key) else job.key))
        dut.io.in.bits.size.poke(AesKeySize.ofBytes(job.key.length))
        dut.io.in.bits.inverse.poke(job.inverse)
        dut.io.in.bits.tag.poke(cycle % 256)
        expected += ((cycle + AesPipe.latency, cycle % 256, job.result))
      }
      dut.clock.step()
      val now = cycle + 1
      assert(
        dut.io.ahead.valid.peekValue().asBigInt == BigInt(if (expected.exists(_._1 == now + 4)) 1 else 0),
        s"ahead at $now"
      )
      if (dut.io.out.valid.peekValue().asBigInt == 1) {
        val (when, tag, result) = expected.dequeue()
        assert(when == now)
        dut.io.out.bits.tag.expect(tag)
        assert(Bytes.toHex(Bytes.fromBigInt(dut.io.out.bits.block.peekValue().asBigInt, 16)) == Bytes.toHex(result))
      }
    }
    assert(expected.isEmpty)
  }

  test(
    "FIPS-197 appendices B and C, then keys of all sizes mixed block by block, with gaps, against the JVM's cipher"
  ) {
    simulate(new AesPipe(UInt(8.W), 4)) { dut =>
      dut.io.wipe.poke(false)
      val appendixB = Job(
        Bytes.fromHex("2b7e151628aed2a6abf7158809cf4f3c"),
        Bytes.fromHex("3243f6a8885a308d313198a2e0370734"),
        Bytes.fromHex("3925841d02dc09fbdc118597196a0b32")
      )
      run(dut, (appendixB +: appendixC).map(Some(_)))
      val random = new scala.util.Random(1)
      run(
        dut,
        Seq.fill(900)(Option.when(random.nextInt(4) != 0) {
          job(Bytes.random(random, 16 + 8 * random.nextInt(3)), Bytes.random(random, 16))
        })
      )
    }
  }

  test("FIPS-197 appendix C, then both ways and keys of all sizes mixed block by block, with gaps, against the JVM's") {
    simulate(new AesPipe(UInt(8.W), 4, deciphers = true)) { dut =>
      dut.io.wipe.poke(false)
      run(dut, appendixC.map(Some(_)) ++ Seq(appendixC.head, appendixC.last).map(j => Some(j.back)))
      val random = new scala.util.Random(3)
      run(
        dut,
        Seq.fill(1500)(Option.when(random.nextInt(4) != 0) {
          val forth = job(Bytes.random(random, 16 + 8 * random.nextInt(3)), Bytes.random(random, 16))
          if (forth.key.length != 24 && random.nextBoolean()) forth.back else forth
        })
      )
    }
  }

  test("every block of Wycheproof's valid AES-CBC cases, encrypted") {
    val blocks = CbcVectors.blocks(Set(16, 24, 32)).getOrElse(cancel(Wycheproof.absent))
    assert(blocks.map(_.id).distinct.size == 36, "the file holds other cases than this test was written for")
    simulate(new AesPipe(UInt(8.W), 4)) { dut =>
      dut.io.wipe.poke(false)
      run(dut, blocks.map(b => Some(Job(b.key, b.plain, b.secret))))
    }
  }

  test("every block of Wycheproof's valid AES-CBC cases with a key of 128 or 256 bits, decrypted") {
    val blocks = CbcVectors.blocks(Set(16, 32)).getOrElse(cancel(Wycheproof.absent))
    assert(blocks.map(_.id).distinct.size == 24, "the file holds other cases than this test was written for")
    simulate(new AesPipe(UInt(8.W), 4, deciphers = true)) { dut =>
      dut.io.wipe.poke(false)
      run(dut, blocks.map(b => Some(Job(b.key, b.plain, b.secret).back)))
    }
  }

  test("the tag cannot be known before the block is in") {
    intercept[IllegalArgumentException](simulate(new AesPipe(UInt(8.W), AesPipe.latency))(_ => ()))
  }
}
