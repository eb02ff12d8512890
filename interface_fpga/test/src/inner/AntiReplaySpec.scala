// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

class AntiReplaySpec extends AnyFunSuite with CompiledOnce {
  override def brief = false

  private val rowBits = 6
  private val high32 = BigInt(1) << 32
  private val windows = Seq(64, 65, 1023, 1024, 1025, 2048, 2049, 4095, 4096)

  private def bench(body: AntiReplayBench => Unit): Unit = simulate(new AntiReplay(rowBits)) { dut =>
    val bench = new AntiReplayBench(dut, dut.io)
    bench.start()
    body(bench)
  }

  test("RFC 4303 3.4.3 and appendix A2, RFC 6479: the boundaries, by hand") {
    bench { bench =>
      def sequence(window: Int)(steps: (BigInt, String)*): Unit = {
        val answers = bench.fresh(steps.map { case (number, _) => Query(3, number, window) })
        assert(answers == steps.map(_._2), s"window $window: ${steps.map(_._1)}")
      }
      // Number 0 is never sent; the first packet of an SA is 1, or any other.
      sequence(64)(BigInt(0) -> "replayed", BigInt(1) -> "good", BigInt(1) -> "replayed", BigInt(0) -> "replayed")
      sequence(64)(BigInt(64) -> "good", BigInt(0) -> "too old", BigInt(1) -> "good", BigInt(1) -> "replayed")
      sequence(4096)(BigInt(4095) -> "good", BigInt(0) -> "replayed", BigInt(4096) -> "good", BigInt(0) -> "too old")
      // The left edge: with T the highest, T - W + 1 is the last in the window (RFC 4303 A2.1: Bl =
      // Tl - W + 1).
      for (
        window <- windows;
        top <- Seq(BigInt(5000), BigInt(5119), BigInt(5120), high32 + window - 1, high32 + window)
      ) {
        sequence(window)(
          top -> "good",
          (top - window + 1) -> "good",
          (top - window + 1) -> "replayed",
          (top - window) -> "too old",
          (top - window - 1) -> "too old",
          top -> "replayed",
          (top + 1) -> "good",
          (top - window + 1) -> "too old",
          (top - window + 2) -> "good"
        )
      }
      // Slides by one ring, one less and one more; received numbers stay received, and no other
      // number becomes so.
      for (
        window <- Seq(1024, 2048, 4096);
        slide <- Seq(1, 31, 32, 63, 64, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 12288)
      ) {
        val base = BigInt(3000)
        val top = base + slide
        sequence(window)(
          base -> "good",
          top -> "good",
          base -> (if (slide >= window) "too old" else "replayed"),
          (top - window + 1).max(1) -> (if (slide == window - 1) "replayed" else "good"),
          (top - 1) -> (if (slide == 1) "replayed" else "good"),
          top -> "replayed"
        )
      }
      // RFC 4303 A2: across the turn of the low 32 bits, in both directions.
      for (window <- windows) sequence(window)(
        (high32 - 1) -> "good",
        high32 -> "good",
        (high32 + 1) -> "good",
        (high32 - 2) -> "good",
        (high32 - 1) -> "replayed",
        (high32 + window - 2) -> "good",
        (high32 - 1) -> "replayed",
        (high32 - 2) -> "too old"
      )
      // The last numbers there are.
      val end = (BigInt(1) << 64) - 1
      for (window <- Seq(64, 2048, 4096)) sequence(window)(
        (end - 1) -> "good",
        end -> "good",
        end -> "replayed",
        (end - window + 1) -> "good",
        (end - window) -> "too old",
        BigInt(1) -> "too old",
        BigInt(0) -> "too old"
      )
      // A far jump forgets everything: nothing in the new window was received, in whatever row
      // it is.
      for (window <- Seq(1024, 2048, 4096); far <- Seq(high32 * 5, BigInt(1) << 44, BigInt(4096) * 3)) {
        val old = Seq(BigInt(77), BigInt(1100), BigInt(2200), BigInt(3300)).filter(_ < window)
        sequence(window)(
          old.map(_ -> "good") ++ Seq(far + old.last -> "good") ++
            old.init.map(n => (far + n) -> "good") ++ old.map(n => (far + n) -> "replayed") ++
            Seq(old.last -> "too old"): _*
        )
      }
    }
  }

  test("random walks of one SA and of several, two cycles apart and more, agree with the model") {
    bench { bench =>
      val starts = Seq(BigInt(1), high32 - 3000, (BigInt(1) << 44) - 500)
      // One SA, a packet every second cycle.
      for ((window, i) <- windows.zipWithIndex; start <- starts)
        bench.check(ReplayWalk(new Random(i), 400, Map(1 -> window), start, 2), s"window $window from $start")
      // Many SAs of all windows, mixed; every second cycle and with pauses.
      for (seed <- 1 to 8) {
        val random = new Random(seed)
        val windowOf = Seq.tabulate(Seq(2, 3, 9, 16)(seed % 4))(sa => sa -> windows((sa + seed) % windows.size)).toMap
        val gap = () => if (seed % 2 == 0) 2 else 2 + random.nextInt(6)
        bench.check(ReplayWalk(random, 600, windowOf, starts(seed % 3), gap()), s"seed $seed")
      }
      // A packet and its copy at each distance: never good twice.
      for (gap <- 2 to 12; between <- 0 to 2; other <- Seq(1, 2); window <- Seq(64, 4096)) {
        val filler = Seq.tabulate(between)(i => Query(other, 500 + i, window, gap = 2))
        bench.check(
          Seq(Query(1, 510, window)) ++ filler ++ Seq(Query(1, 510, window, gap = gap)),
          s"gap $gap, $between packets of SA $other between, window $window"
        )
      }
    }
  }

  test("clearing an SA forgets its numbers and those of no other") {
    bench { bench =>
      for (window <- Seq(1024, 2048, 4096)) {
        def packet(sa: Int, number: BigInt) = Query(sa, number, window)
        val numbers = (9000 - window + 1 to 9000 by 1000).map(BigInt(_))
        val first = bench.fresh(numbers.flatMap(n => Seq(packet(5, n), packet(6, n))))
        assert(first.forall(_ == "good"))
        bench.clear(5, window)
        assert(bench.run(numbers.map(packet(6, _))).forall(_ == "replayed"))
        assert(bench.run(numbers.map(packet(5, _))).forall(_ == "good"))
        bench.clear(5, window)
        assert(bench.run(Seq(packet(5, 1), packet(5, 1), packet(6, 1))) == Seq("good", "replayed", "too old"))
      }
    }
  }

  test("software reads what a window holds and presets it, number for number") {
    bench { bench =>
      for ((window, i) <- windows.zipWithIndex; start <- Seq(BigInt(1), high32 - 2000)) {
        val random = new Random(i)
        // Another SA's rows beside it, which must not change.
        val neighbour = bench.check(ReplayWalk(random, 40, Map(4 -> 4096), start, 2), "neighbour")
        val models = bench.check(ReplayWalk(random, 150, Map(3 -> window), start, 2), s"window $window before")
        assert(bench.read(3, window) == (models(3).top, models(3).inside(window)), s"window $window from $start")

        // A standby box gets another state: dense, sparse or of one number.
        val top = start + random.nextInt(20000)
        val density = Seq(0.9, 0.1, 0.0)(i % 3)
        val received =
          (0 until window).map(top - _).filter(n => n > 0 && (n == top || random.nextDouble() < density)).toSet
        bench.preset(3, window, received)
        assert(bench.read(3, window) == (top, received), s"window $window preset to $top")
        val model = new ReplayModel
        received.foreach(model.accept)
        val known = Some(mutable.Map(3 -> model))
        bench.check(ReplayWalk(random, 150, Map(3 -> window), top, 2), s"window $window after", known)
        assert(bench.read(3, window) == (model.top, model.inside(window)))
        assert(bench.read(4, 4096) == (neighbour(4).top, neighbour(4).inside(4096)))
      }
      assert(bench.access(2 << rowBits).isEmpty, "a row that does not exist")
      assert(bench.access((2 << rowBits) - 1).isDefined)
    }
  }
}
