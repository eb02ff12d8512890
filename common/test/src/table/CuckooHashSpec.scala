// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet

import java.util.zip.CRC32C
import scala.util.Random

class CuckooHashSpec extends AnyFunSuite with CompiledOnce {
  private def crc32c(bytes: Seq[Byte]): Long = {
    val crc = new CRC32C
    crc.update(bytes.toArray)
    crc.getValue
  }

  test("CRC-32C is the JDK's") {
    val random = new Random(1)
    for (bits <- Seq(8, 72, 100, 104); _ <- 0 until 100) {
      val key = BigInt(bits, random)
      assert(CuckooHash.crc(0, key, bits) == crc32c(Packet.bytesOf(key, (bits + 7) / 8)))
    }
  }

  test("CRC-32K gives the check value of CRC-32/MEF, which has no final XOR") {
    val check = Packet.littleEndian("123456789".getBytes.toSeq)
    assert((CuckooHash.crc(1, check, 72) ^ 0xffffffffL) == 0xd2c22f51L)
  }

  test("the hardware reads the rows that Scala names") {
    class Hashes extends Module {
      val key = IO(Input(UInt(104.W)))
      val flow = IO(Output(Vec(CuckooHash.ways, UInt(14.W))))
      val sad = IO(Output(Vec(CuckooHash.ways, UInt(16.W))))
      val odd = IO(Output(Vec(CuckooHash.ways, UInt(4.W))))
      for (w <- 0 until CuckooHash.ways) {
        flow(w) := CuckooHash.row(w, key, 1 << 14)
        sad(w) := CuckooHash.row(w, key(71, 0), 1 << 16)
        odd(w) := CuckooHash.row(w, key(99, 0), 1 << 4)
      }
    }
    simulate(new Hashes) { dut =>
      val random = new Random(2)
      for (n <- 0 until 200) {
        val key = if (n < 104) BigInt(1) << n else BigInt(104, random)
        dut.key.poke(key.U)
        for (w <- 0 until CuckooHash.ways) {
          dut.flow(w).expect(CuckooHash.row(w, key, 104, 1 << 14).U)
          dut.sad(w).expect(CuckooHash.row(w, key & ((BigInt(1) << 72) - 1), 72, 1 << 16).U)
          dut.odd(w).expect(CuckooHash.row(w, key & ((BigInt(1) << 100) - 1), 100, 1 << 4).U)
        }
        // Way 0 once more, by the JDK alone.
        dut.flow(0).expect((crc32c(Packet.bytesOf(key, 13)) & 0x3fff).U)
        dut.flow(1).expect(((crc32c(Packet.bytesOf(key, 13)) >> 16) & 0x3fff).U)
      }
    }
  }
}
