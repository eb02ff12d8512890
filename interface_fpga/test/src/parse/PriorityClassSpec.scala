// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet

import scala.io.Source
import scala.util.Random

/**
 * Judged by scapy's dissector: tests/vectors/test_priority_frames.py writes the table of frames and
 * their contents.
 */
class PriorityClassSpec extends AnyFunSuite with CompiledOnce {

  /** @param dscp none of a frame whose DSCP is not seen */
  private case class Row(control: Boolean, dscp: Option[Int], frame: Seq[Byte]) {
    def high(marked: BigInt): Boolean = control || dscp.exists(marked.testBit)
  }

  private val rows: Seq[Row] =
    Source.fromResource("priority_frames.txt").getLines().toSeq.filterNot(_.startsWith("#")).map {
      line =>
        val Array(control, dscp, frame) = line.split(" ")
        Row(control == "1", dscp.toIntOption, frame.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq)
    }

  test("every frame has the class that scapy says, on each of its beats, under every mark") {
    assert(rows.size > 500 && rows.count(_.control) > 50)
    simulate(new PriorityClass) { dut =>
      val random = new Random(6)
      val resetMarks = (BigInt(1) << 48) | (BigInt(1) << 56)
      val all = (BigInt(1) << 64) - 1
      for (marked <- Seq(BigInt(0), resetMarks, all, BigInt(64, random), BigInt(64, random))) {
        dut.io.marked.poke(marked)
        var due = Seq.fill(PriorityClass.latency)(Option.empty[(Boolean, Int)])
        def step(high: Option[(Boolean, Int)]): Unit = {
          for ((expected, row) <- due.head)
            assert(dut.io.high.peek().litToBoolean == expected, s"row $row, marks ${marked.toString(16)}")
          due = due.tail :+ high
          dut.clock.step()
        }
        for ((row, number) <- random.shuffle(rows.zipWithIndex)) {
          val beats = row.frame.grouped(64).toSeq
          for ((beat, i) <- beats.zipWithIndex) {
            dut.io.beat.valid.poke(true)
            // What a MAC leaves above the last byte is anything.
            dut.io.beat.bits.data.poke(Packet.littleEndian(beat.padTo(64, 0xa5.toByte)))
            dut.io.beat.bits.bytes.poke(beat.length)
            dut.io.beat.bits.last.poke(i == beats.length - 1)
            step(Some(row.high(marked) -> number))
            if (random.nextInt(4) == 0) {
              dut.io.beat.valid.poke(false)
              dut.io.beat.bits.data.poke(BigInt(512, random))
              dut.io.beat.bits.last.poke(random.nextBoolean())
              step(None)
            }
          }
        }
        dut.io.beat.valid.poke(false)
        for (_ <- due) step(None)
      }
    }
  }
}
