package sallyport.crypto

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import javax.crypto.Cipher
import javax.crypto.spec.SecretKeySpec
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable

class AesPipeSpec extends AnyFunSuite with ChiselSim {

  private def reference(key: Array[Byte], block: Array[Byte]): Array[Byte] = {
    val cipher = Cipher.getInstance("AES/ECB/NoPadding")
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"))
    cipher.doFinal(block)
  }

  /** Puts one block (or none) a cycle in, and checks each block that comes out, its time and its tag. */
  private def run(dut: AesPipe[UInt], blocks: Seq[Option[(Array[Byte], Array[Byte], Array[Byte])]]): Unit = {
    val expected = mutable.Queue.empty[(Int, Int, Array[Byte])]
    for ((entry, cycle) <- (blocks ++ Seq.fill(AesPipe.latency)(None)).zipWithIndex) {
      dut.io.in.valid.poke(entry.isDefined)
      for ((key, block, result) <- entry) {
        dut.io.in.bits.block.poke(Bytes.toBigInt(block))
        dut.io.in.bits.key.poke(Bytes.toBigInt(key))
        dut.io.in.bits.size.poke(AesKeySize.ofBytes(key.length))
        dut.io.in.bits.tag.poke(cycle % 256)
        expected += ((cycle + AesPipe.latency, cycle % 256, result))
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
      val block = Bytes.fromHex("00112233445566778899aabbccddeeff")
      val key = Array.tabulate(32)(_.toByte)
      run(
        dut,
        Seq(
          Some((
            Bytes.fromHex("2b7e151628aed2a6abf7158809cf4f3c"),
            Bytes.fromHex("3243f6a8885a308d313198a2e0370734"),
            Bytes.fromHex("3925841d02dc09fbdc118597196a0b32")
          )),
          Some((key.take(16), block, Bytes.fromHex("69c4e0d86a7b0430d8cdb78070b4c55a"))),
          Some((key.take(24), block, Bytes.fromHex("dda97ca4864cdfe06eaf70a0ec0d7191"))),
          Some((key, block, Bytes.fromHex("8ea2b7ca516745bfeafc49904b496089")))
        )
      )
      val random = new scala.util.Random(1)
      run(
        dut,
        Seq.fill(900)(Option.when(random.nextInt(4) != 0) {
          val key = Bytes.random(random, 16 + 8 * random.nextInt(3))
          val block = Bytes.random(random, 16)
          (key, block, reference(key, block))
        })
      )
    }
  }

  test("every block of Wycheproof's valid AES-CBC cases, encrypted") {
    val blocks = CbcVectors.blocks(Set(16, 24, 32)).getOrElse(cancel(Wycheproof.absent))
    assert(blocks.map(_.id).distinct.size == 36, "the file holds other cases than this test was written for")
    simulate(new AesPipe(UInt(8.W), 4)) { dut =>
      dut.io.wipe.poke(false)
      run(dut, blocks.map(b => Some((b.key, b.plain, b.secret))))
    }
  }

  test("the tag cannot be known before the block is in") {
    intercept[IllegalArgumentException](simulate(new AesPipe(UInt(8.W), AesPipe.latency))(_ => ()))
  }
}
