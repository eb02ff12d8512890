// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.identifiers

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

class IdentifierSourceSpec extends AnyFunSuite with CompiledOnce {

  private def load(dut: IdentifierSource, words: Seq[Int], begins: Boolean): Unit = {
    for ((word, n) <- words.zipWithIndex) {
      dut.io.seed.valid.poke(true)
      dut.io.seed.bits.first.poke(begins && n == 0)
      dut.io.seed.bits.word.poke(word)
      dut.clock.step()
      dut.io.seed.valid.poke(false)
      dut.clock.step()
    }
  }

  /** So many identifications of both kinds; the user asks every `interval` cycles. */
  private def take(dut: IdentifierSource, count: Int, interval: Int = 2): Seq[(Int, BigInt)] = Seq.fill(count) {
    dut.io.out.ready.poke(true)
    assert(dut.io.out.valid.peek().litToBoolean, "a packet finds no identification")
    val taken = (dut.io.out.bits.v4.peek().litValue.toInt, dut.io.out.bits.v6.peek().litValue)
    dut.clock.step()
    dut.io.out.ready.poke(false)
    dut.clock.step(interval - 1)
    taken
  }

  test("without a whole key there are none; a packet every second cycle finds one; no number comes again soon") {
    simulate(new IdentifierSource) { dut =>
      val random = new Random(7739)
      def key() = Seq.fill(IdentifierSource.seedWords)(random.nextInt(1 << 16))
      val (first, second) = (key(), key())
      while (!dut.io.ready.peek().litToBoolean) dut.clock.step()
      def none(): Unit = {
        dut.clock.step(100)
        dut.io.seeded.expect(false)
        dut.io.out.valid.expect(false)
      }
      // Without its first word, or its last one, a key is none; the next first word begins anew.
      load(dut, first, begins = false)
      none()
      load(dut, second.init, begins = true)
      none()
      load(dut, first.init, begins = true)
      none()
      load(dut, first.takeRight(1), begins = false)
      dut.clock.step(100)
      dut.io.seeded.expect(true)
      load(dut, second.take(1), begins = false)
      dut.io.seeded.expect(true)

      val taken = take(dut, 30000)
      val lastAt = mutable.Map[Int, Int]()
      for (((v4, _), i) <- taken.zipWithIndex) {
        for (last <- lastAt.get(v4)) assert(i - last > IdentifierSource.apart, s"$v4 comes again after ${i - last}")
        lastAt(v4) = i
      }
      // Each bit is 1 half of the time (5 standard deviations), and steps have no favourite.
      def balanced(bits: Int, values: Seq[BigInt]): Unit = for (bit <- 0 until bits) {
        val ones = values.count(_.testBit(bit))
        assert((ones - values.size / 2).abs < 5 * math.sqrt(values.size) / 2, s"bit $bit")
      }
      balanced(16, taken.map(t => BigInt(t._1)))
      balanced(32, taken.map(_._2))
      val steps = taken.map(_._1).sliding(2).map { case Seq(a, b) => (b - a) & 0xffff }.toSeq
      assert(steps.groupBy(identity).map(_._2.size).max < 20)

      // Another key, other numbers; the same key, the same ones again.
      def after(words: Seq[Int]): Seq[BigInt] = {
        load(dut, words.take(1), begins = true)
        dut.io.seeded.expect(false)
        dut.clock.step(10)
        while (dut.io.out.valid.peek().litToBoolean) take(dut, 1)
        dut.clock.step(10)
        dut.io.out.valid.expect(false)
        load(dut, words.tail, begins = false)
        dut.clock.step(100)
        take(dut, 64).map(_._2)
      }
      val others = after(second)
      assert(others.intersect(taken.map(_._2)).size <= 2)
      // Which of them are let through depends on those before, so most agree, and not all.
      assert(after(first).intersect(taken.take(200).map(_._2)).size > 32)
    }
  }
}
