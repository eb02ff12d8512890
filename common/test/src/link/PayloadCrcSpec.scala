// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.arithmetic.Crc
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet

import java.util.zip.CRC32
import scala.util.Random

class PayloadCrcSpec extends AnyFunSuite with CompiledOnce {
  private val random = new Random(9)

  private def bytes(n: Int): Array[Byte] = {
    val b = new Array[Byte](n)
    random.nextBytes(b)
    b
  }

  private def zlib(b: Array[Byte]): Long = {
    val crc = new CRC32
    crc.update(b)
    crc.getValue
  }

  test("matrices agree with zlib") {
    for (n <- Seq(1, 4, 12, 64)) {
      val b = bytes(n)
      val data = Packet.littleEndian(b.toSeq)
      assert((Crc.ieee.reference(0xffffffffL, data, 8 * n) ^ 0xffffffffL) == zlib(b))
      def times(rows: Seq[BigInt], x: BigInt): BigInt =
        rows.zipWithIndex.map { case (r, i) => BigInt((r & x).bitCount & 1) << i }.reduce(_ | _)
      val state = times(Crc.ieee.stateRows(8 * n), BigInt(0xffffffffL)) ^ times(Crc.ieee.dataRows(8 * n), data)
      assert((state ^ BigInt(0xffffffffL)) == BigInt(zlib(b)), s"$n bytes")
    }
  }

  test("packets of one to four beats, back to back, against zlib") {
    simulate(new PayloadCrc) { dut =>
      val packets = Seq.fill(30)(bytes(64 * (1 + random.nextInt(4))))
      val beats = packets.flatMap { p =>
        val g = p.grouped(64).toSeq
        g.zipWithIndex.map { case (b, i) => (b, i == 0, if (i == g.length - 1) Some(zlib(p)) else None) }
      }
      var expected = Seq(Option.empty[Long], None)
      for ((beat, first, crc) <- beats) {
        dut.io.valid.poke(true.B)
        dut.io.first.poke(first.B)
        dut.io.data.poke(Packet.littleEndian(beat.toSeq).U(512.W))
        expected.head.foreach(e => assert((dut.io.crc.peek().litValue ^ 0xffffffffL) == e))
        expected = expected.tail :+ crc
        dut.clock.step(1)
      }
    }
  }
}
