// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.{CompiledOnce, LongForm}

import scala.util.Random

class SecdedSpec extends AnyFunSuite with CompiledOnce {

  /** Sequence counters, highest numbers, the smallest, and outbound key rows, the largest. */
  private val widths = Seq(66, 64, 1, 1024)

  /**
   * Flips each bit of the word of `data` alone, and each two of its bits, a case a cycle, and
   * counts what the decoder gets wrong.
   */
  private class Flipper(dataBits: Int) extends Module {
    private val code = Secded(dataBits)
    val io = IO(new Bundle {
      val data = Input(UInt(dataBits.W))
      val word = Output(UInt(code.bits.W))
      val done = Output(Bool())
      val singles = Output(UInt(32.W))
      val doubles = Output(UInt(32.W))
      val wrong = Output(UInt(32.W))
    })
    private val first = RegInit(UInt(code.bits.W), 1.U)
    private val second = RegInit(UInt(code.bits.W), 1.U)
    private val singles = RegInit(0.U(32.W))
    private val doubles = RegInit(0.U(32.W))
    private val wrong = RegInit(0.U(32.W))

    io.word := code.encode(io.data)
    private val single = first === second
    private val flipped = io.word ^ (first | second)
    private val verdict = code.verdict(code.syndrome(flipped))
    private val data = flipped(dataBits - 1, 0) ^ verdict.flips
    private val right =
      Mux(single, verdict.repaired && !verdict.spoiled && data === io.data, verdict.spoiled && !verdict.repaired)
    private val none = code.verdict(code.syndrome(io.word))

    // `second` goes from `first` to the top, and then both start one bit higher.
    private val done = RegInit(false.B)
    private val top = second(code.bits - 1)
    when(!done) {
      when(single)(singles := singles + 1.U).otherwise(doubles := doubles + 1.U)
      wrong := wrong + (!right || none.asUInt.orR)
      first := Mux(top, first << 1, first)
      second := Mux(top, first << 1, second << 1)
      done := first(code.bits - 1)
    }
    io.done := done
    io.singles := singles
    io.doubles := doubles
    io.wrong := wrong
  }

  /** The check bits of `data`, each the parity of the bits whose column has its bit. */
  private def word(code: Secded, data: BigInt): BigInt = {
    val syndromes = (0 until code.dataBits).filter(data.testBit).map(code.columns)
    data | BigInt(syndromes.foldLeft(0)(_ ^ _)) << code.dataBits
  }

  for (width <- widths) test(s"$width bits: one flipped bit is repaired and two are detected, at every place") {
    if (width > 100) LongForm.only()
    val code = Secded(width)
    val random = new Random(width)
    simulate(new Flipper(width)) { dut =>
      for (data <- Seq(BigInt(0), (BigInt(1) << width) - 1, BigInt(width, random))) {
        dut.reset.poke(true)
        dut.clock.step()
        dut.reset.poke(false)
        dut.io.data.poke(data)
        assert(dut.io.word.peek().litValue == word(code, data))
        val pairs = code.bits * (code.bits - 1) / 2
        dut.clock.step(code.bits + pairs)
        dut.io.done.expect(true.B)
        assert(dut.io.singles.peek().litValue == code.bits && dut.io.doubles.peek().litValue == pairs)
        assert(dut.io.wrong.peek().litValue == 0)
      }
    }
  }

  test("columns differ, have odd weight, the least possible, and load every check bit alike") {
    for (code <- widths.map(Secded(_))) {
      assert(code.columns.distinct.size == code.bits)
      assert(code.columns.forall(Integer.bitCount(_) % 2 == 1))
      val data = code.columns.take(code.dataBits).map(Integer.bitCount)
      assert(data == data.sorted)
      val loads = (0 until code.checkBits).map(row => code.columns.count(column => (column >> row & 1) == 1))
      assert(loads.max - loads.min <= 1 || code.dataBits == 1, s"${code.dataBits}: $loads")
    }
    // Hsiao's own (72, 64): 216 ones, 27 in each row of the parity-check matrix.
    val code = Secded(64)
    assert(code.bits == 72 && code.columns.map(Integer.bitCount).sum == 216)
    assert((0 until 8).forall(row => code.columns.count(column => (column >> row & 1) == 1) == 27))
  }

  test("refuses what has no code") {
    assert(intercept[IllegalArgumentException](Secded(0)).getMessage.contains("not 0"))
    assert(intercept[IllegalArgumentException](Secded(1025)).getMessage.contains("not 1025"))
  }
}
