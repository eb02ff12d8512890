// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.noise

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.CryptoRegs.NoiseStatus
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

/** The noise source and its health tests (NIST SP 800-90B 4.3, 4.4). */
class NoiseSpec extends AnyFunSuite with CompiledOnce {
  private val config = NoiseConfig(entropy = 0.5, sampleCycles = 4)
  private val alternating = Seq.tabulate(config.window)(_ % 2 == 1)

  test("cutoffs are those of jitterentropy-library, which has them for one bit in 1 to 15 samples of 512") {
    val proportions = Seq(325, 422, 459, 477, 488, 494, 499, 502, 505, 507, 508, 509, 510, 511, 512)
    for ((proportion, i) <- proportions.zipWithIndex) {
      val of = NoiseConfig(entropy = 1.0 / (i + 1), window = 512)
      assert((of.repetitions, of.proportion) == (1 + 30 * (i + 1), proportion))
    }
  }

  test("entropies and windows that cannot be are refused") {
    for (entropy <- Seq(0.0, -0.5, 1.01)) intercept[IllegalArgumentException](NoiseConfig(entropy))
    intercept[IllegalArgumentException](NoiseConfig(window = 1))
    assert(NoiseConfig(entropy = 1).wordEntropy == 32 && NoiseConfig(entropy = 0.01).wordEntropy == 0)
  }

  test("each health test fails with the sample that reaches its cutoff, not before, and for good") {
    simulate(new HealthTests(config)) { dut =>
      def feed(samples: Seq[Boolean]): Unit = {
        dut.io.in.valid.poke(true)
        for (sample <- samples) { dut.io.in.bits.poke(sample); dut.clock.step() }
        dut.io.in.valid.poke(false)
      }
      def verdict = Seq(dut.io.good, dut.io.repetitionFailed, dut.io.proportionFailed).map(_.peek().litToBoolean)
      def restart(): Unit = { dut.io.restart.poke(true); dut.clock.step(); dut.io.restart.poke(false) }
      val (good, starting) = (Seq(true, false, false), Seq(false, false, false))
      val (repeats, biased) = (Seq(false, true, false), Seq(false, false, true))

      // Start-up: a window of good samples.
      feed(alternating.init)
      assert(verdict == starting)
      feed(alternating.takeRight(1))
      assert(verdict == good)

      // One sample less than the cutoff on end, then another value; then as many as it.
      feed(Seq.fill(config.repetitions - 1)(false) :+ true)
      assert(verdict == good)
      feed(Seq.fill(config.repetitions - 1)(false))
      assert(verdict == good)
      dut.clock.step(5)
      feed(Seq(false))
      assert(verdict == repeats)
      feed(alternating ++ alternating)
      assert(verdict == repeats)
      restart()
      assert(verdict == starting)
      feed(alternating)
      assert(verdict == good)

      // A window in which one less than the cutoff equal the first, spread over it; then one of
      // as many.
      def window(equal: Int): Seq[Boolean] =
        Seq.tabulate(config.window)(i => (i + 1) * equal / config.window > i * equal / config.window || i == 0)
      val (below, at) = (window(config.proportion - 2), window(config.proportion - 1))
      assert(below.count(identity) == config.proportion - 1 && at.count(identity) == config.proportion)
      feed(below)
      assert(verdict == good)
      feed(at.take(at.lastIndexOf(true)))
      assert(verdict == good)
      feed(at.drop(at.lastIndexOf(true)))
      assert(verdict == biased)

      // A start-up that fails.
      restart()
      feed(Seq.fill(config.window)(true))
      assert(verdict.take(2) == repeats.take(2))
    }
  }

  test("words are the samples in order, wait for software, and go when they are taken, erased or no longer good") {
    simulate(new NoiseSource(config)) { dut =>
      val random = new Random(5)
      val driven = collection.mutable.Buffer.empty[Boolean]
      def run(samples: Int)(next: => Boolean): Unit = for (_ <- 0 until samples) {
        driven += next
        dut.io.noise.poke(driven.last)
        dut.clock.step(config.sampleCycles)
      }
      def status = dut.io.status.peek().litValue.toInt
      def level = status >> NoiseStatus.words.lsb & 15
      def good = (status >> NoiseStatus.good.lsb & 1) == 1
      def pulse(port: Bool): Unit = { port.poke(true); dut.clock.step(); port.poke(false) }
      def take(): BigInt = { val word = dut.io.word.peek().litValue; pulse(dut.io.pop); word }

      run(config.window - 2)(random.nextBoolean())
      assert(!good && level == 0 && dut.io.word.peek().litValue == 0)
      run(32 * NoiseSource.words + 40)(random.nextBoolean())
      assert(good && level == NoiseSource.words)
      val bits = Seq.fill(NoiseSource.words)(take()).flatMap(word => (0 until 32).map(word.testBit))
      assert((config.window - 2 to config.window + 2).exists(at => driven.slice(at, at + bits.length).toSeq == bits))
      assert(level == 0 && take() == 0)

      run(40)(random.nextBoolean())
      assert(level == 1)
      pulse(dut.io.erase)
      assert(good && level == 0 && dut.io.word.peek().litValue == 0)

      run(70)(random.nextBoolean())
      assert(level == 2)
      run(config.repetitions + 1)(true)
      assert(!good && level == 0 && dut.io.word.peek().litValue == 0)
      assert((status >> NoiseStatus.repetitionFailed.lsb & 1) == 1)
      run(2 * config.window)(random.nextBoolean())
      assert(!good && level == 0)
      pulse(dut.io.restart)
      run(config.window + 40)(random.nextBoolean())
      assert(good && level == 1)
    }
  }
}
