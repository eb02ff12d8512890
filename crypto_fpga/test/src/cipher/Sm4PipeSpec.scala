// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import org.bouncycastle.crypto.engines.SM4Engine
import org.bouncycastle.crypto.params.KeyParameter
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.support.{Bytes, PipeRun}

class Sm4PipeSpec extends AnyFunSuite with CompiledOnce {
  private case class Job(key: Array[Byte], block: Array[Byte], decrypt: Boolean, result: Array[Byte])

  private def job(key: Array[Byte], block: Array[Byte], decrypt: Boolean): Job = {
    val engine = new SM4Engine
    engine.init(!decrypt, new KeyParameter(key))
    val result = new Array[Byte](16)
    engine.processBlock(block, 0, result, 0)
    Job(key, block, decrypt, result)
  }

  private def run(dut: Sm4Pipe, jobs: Seq[Option[Job]]): Unit =
    PipeRun(dut, dut.io.in.valid, dut.io.out.valid, Sm4Pipe.latency, jobs) { job =>
      dut.io.in.bits.block.poke(Bytes.toBigInt(job.block))
      dut.io.in.bits.key.poke(Bytes.toBigInt(if (job.decrypt) Sm4Keys.reversed(job.key) else job.key))
      dut.io.in.bits.decrypt.poke(job.decrypt)
    } { job =>
      assert(Bytes.toHex(Bytes.fromBigInt(dut.io.out.bits.peekValue().asBigInt, 16)) == Bytes.toHex(job.result))
    }

  test("GB/T 32907-2016 appendix A.1 both ways, then both directions mixed with gaps, against Bouncy Castle") {
    simulate(new Sm4Pipe) { dut =>
      dut.io.wipe.poke(false)
      val key = Bytes.fromHex("0123456789abcdeffedcba9876543210")
      val secret = Bytes.fromHex("681edf34d206965e86b3e94f536e4246")
      run(dut, Seq(Some(Job(key, key, decrypt = false, secret)), Some(Job(key, secret, decrypt = true, key))))

      val random = new scala.util.Random(4)
      run(
        dut,
        Seq.fill(900)(Option.when(random.nextInt(4) != 0) {
          job(Bytes.random(random, 16), Bytes.random(random, 16), random.nextBoolean())
        })
      )
    }
  }

  test("a key that enters during a wipe is not used") {
    simulate(new Sm4Pipe) { dut =>
      dut.io.wipe.poke(true)
      dut.io.in.valid.poke(true)
      dut.io.in.bits.decrypt.poke(true)
      def result(key: BigInt): BigInt = {
        dut.io.in.bits.block.poke(key)
        dut.io.in.bits.key.poke(key)
        dut.clock.step(Sm4Pipe.latency)
        dut.io.out.bits.peekValue().asBigInt
      }
      assert(result(BigInt(0)) == result((BigInt(1) << 128) - 1))
    }
  }
}
