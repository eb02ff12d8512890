// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

/** Against the definition of a token bucket, in whole tokens and fractions of one. */
class TokenBucketsSpec extends AnyFunSuite with CompiledOnce {
  private val count = 7
  private val perTurn = TokenBuckets.interval / TokenBuckets.turns

  private class Bench(dut: TokenBuckets) {
    def limit(bucket: Int, rate: Int, burst: Int): Unit = {
      dut.io.limits(bucket).rate.poke(rate)
      dut.io.limits(bucket).burst.poke(burst)
    }

    /** One request; whether it was granted. Two cycles. */
    def ask(bucket: Int): Boolean = {
      dut.io.request.valid.poke(true)
      dut.io.request.bits.poke(bucket)
      dut.clock.step()
      dut.io.request.valid.poke(false)
      val granted = dut.io.granted.peek().litToBoolean
      dut.clock.step()
      granted
    }

    /** Requests of consecutive cycles, granted ones. */
    def flood(bucket: Int, requests: Int): Int = {
      dut.io.request.valid.poke(true)
      dut.io.request.bits.poke(bucket)
      val granted = (0 until requests).count { _ =>
        dut.clock.step()
        dut.io.granted.peek().litToBoolean
      }
      dut.io.request.valid.poke(false)
      granted
    }

    /** Two rounds of turns: limits are in force. */
    def settle(): Unit = dut.clock.step(2 * TokenBuckets.turns)
  }

  test("below, at and above the burst; none of one bucket's tokens is another's; 0 is no limit; a burst of 0 is none") {
    simulate(new TokenBuckets(count)) { dut =>
      val bench = new Bench(dut)
      val bursts = Seq(0, 1, 2, 5, 300, 65535, 9)
      for ((burst, i) <- bursts.zipWithIndex) bench.limit(i, rate = 1, burst)
      bench.limit(6, rate = 0, burst = 9)
      bench.settle()
      // At a rate of 1 a token comes every 67 million cycles: none in this test.
      for ((burst, i) <- bursts.zipWithIndex.take(6)) {
        val (below, above) = (burst.min(3), if (burst < 65535) 400 else 0)
        assert(bench.flood(i, below) == below)
        assert(bench.flood(i, burst - below + above) == burst - below, s"burst $burst")
        assert(!bench.ask(i))
      }
      assert(bench.flood(6, 1000) == 1000)
      // A bucket without a limit keeps its tokens. A lowered burst takes the tokens above it; a
      // raised one gives none.
      bench.limit(6, rate = 1, burst = 9)
      bench.settle()
      assert(bench.ask(6))
      bench.limit(6, rate = 1, burst = 4)
      bench.settle()
      bench.limit(6, rate = 1, burst = 100)
      bench.settle()
      assert(bench.flood(6, 50) == 4)
      // An interval of no requests and no tokens.
      assert((0 until count - 1).forall(i => !bench.ask(i)))
    }
  }

  test("tokens come evenly, rate of them in an interval, until the bucket is full") {
    simulate(new TokenBuckets(count)) { dut =>
      val bench = new Bench(dut)
      val rates = Seq(65535, 40000, 12345)
      for ((rate, i) <- rates.zipWithIndex) bench.limit(i, rate, 1000)
      bench.settle()
      for (i <- rates.indices) assert(bench.flood(i, 1001) >= 1000)
      // The tokens of n cycles are those of n cycles at the rate, to within the fraction that was
      // there; the floods take cycles too.
      val cycles = (100L * TokenBuckets.interval / 65535).toInt
      for (i <- rates.indices) bench.flood(i, 3) // empty again
      dut.clock.step(cycles)
      for ((rate, i) <- rates.zipWithIndex) {
        def tokens(cycles: Long): Long = rate * cycles / TokenBuckets.interval
        val got = bench.flood(i, 300)
        assert(got >= tokens(cycles) && got <= tokens(cycles + 910) + 1, s"rate $rate: $got tokens in $cycles cycles")
      }
      // Full: no more than the burst however long the rest.
      for (i <- rates.indices) bench.limit(i, rates(i), 20)
      dut.clock.step((40L * TokenBuckets.interval / 12345).toInt)
      for (i <- rates.indices) assert(bench.flood(i, 20) == 20 && bench.flood(i, 50) <= 1)
    }
  }

  test("random requests of all buckets: every answer is that of the definition") {
    simulate(new TokenBuckets(count)) { dut =>
      val random = new Random(4301)
      val limits = Seq.tabulate(count)(i => (random.nextInt(65536), Seq(1, 2, 3, 7, 40, 0, 5)(i)))
      for (((rate, burst), i) <- limits.zipWithIndex) {
        dut.io.limits(i).rate.poke(rate)
        dut.io.limits(i).burst.poke(burst)
      }
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      // The definition, a cycle a step: `seen` are the tokens that a turn under way has read.
      val tokens = Array.fill(count)(65535)
      val fractions = Array.fill(count)(0)
      var underWay = List.empty[(Int, Int, Int)]
      for (cycle <- 0 until 60000) {
        val ask = if (random.nextInt(3) == 0) Some(random.nextInt(count)) else None
        dut.io.request.valid.poke(ask.nonEmpty)
        dut.io.request.bits.poke(ask.getOrElse(0))
        val granted = ask.exists(tokens(_) > 0)
        val turn = cycle % TokenBuckets.turns
        val read = Option.when(turn < count)((cycle, turn, tokens(turn)))
        ask.filter(_ => granted).foreach(tokens(_) -= 1)
        val (ends, goOn) = underWay.partition(_._1 == cycle - 2)
        for ((_, bucket, seen) <- ends) {
          val (rate, burst) = limits(bucket)
          fractions(bucket) += rate
          val gains = fractions(bucket) >= perTurn
          fractions(bucket) %= perTurn
          if (seen > burst) tokens(bucket) = burst else if (gains && seen < burst) tokens(bucket) += 1
        }
        underWay = goOn ++ read
        dut.clock.step()
        assert(dut.io.granted.peek().litToBoolean == granted, s"cycle $cycle, bucket $ask")
      }
    }
  }
}
