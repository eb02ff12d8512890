// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

class RowRepairSpec extends AnyFunSuite with CompiledOnce {
  private val code = Secded(1024)
  private val early = (BigInt(1) << 130) - 1 << 890

  /** The word of `data`: its check bits are the sums of the columns of the bits that are set. */
  private def word(data: BigInt): BigInt =
    data | BigInt((0 until code.dataBits).filter(data.testBit).map(code.columns).fold(0)(_ ^ _)) << code.dataBits

  private case class Case(data: BigInt, flips: Seq[Int], keep: Boolean) {
    def sent: BigInt = flips.foldLeft(word(data))(_ flipBit _)
  }

  test("a row at each cycle: one flipped bit is repaired at every place, an early one and two are told") {
    simulate(new RowRepair(code, early)) { dut =>
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      val random = new Random(4)
      val places = Seq.fill(40)(Nil) ++ (0 until code.bits).map(Seq(_)) ++
        Seq.fill(400)(random.shuffle((0 until code.bits).toList).take(2))
      val cases = random.shuffle(places).map(Case(BigInt(code.dataBits, random), _, random.nextInt(8) != 0)) :+
        Case(0, Nil, keep = true)
      val expected = mutable.Queue[Case]()
      var keep = true
      for (c <- cases ++ Seq.fill(RowRepair.latency)(Case(0, Nil, keep = true))) {
        dut.io.word.poke(c.sent)
        dut.io.keep.poke(keep)
        keep = c.keep
        expected.enqueue(c)
        if (expected.size > RowRepair.latency) {
          val Case(data, flips, kept) = expected.dequeue()
          val isEarly = flips.exists(early.testBit)
          dut.io.repaired.expect((flips.size == 1 && !isEarly).B, s"$flips")
          dut.io.spoiled.expect((flips.size == 2 || isEarly).B, s"$flips")
          if (!kept) dut.io.row.expect(BigInt(0), s"$flips")
          else if (flips.size < 2) dut.io.row.expect(data, s"$flips")
        }
        dut.clock.step()
      }
    }
  }
}
