package sallyport.iface

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.util.Random

/** The straightforward model: every number that was ever accepted, kept for ever. */
class ReplayModel {
  private val received = mutable.Set(BigInt(0))
  private var top = BigInt(0)

  def apply(sequence: BigInt, window: Int): String =
    if (sequence + window <= top) "too old"
    else if (received(sequence)) "replayed"
    else {
      received += sequence
      top = top.max(sequence)
      "good"
    }
}

class AntiReplaySpec extends AnyFunSuite with ChiselSim {

  private case class Query(sa: Int, sequence: BigInt, window: Int = 1024, gap: Int = 2)

  private val saBits = 4

  /** Verdicts of `queries`, each `gap` cycles after the one before. */
  private def run(dut: AntiReplay, queries: Seq[Query]): Seq[String] = {
    val verdicts = mutable.Buffer.empty[String]
    def step(): Unit = {
      if (dut.io.verdict.valid.peek().litToBoolean) {
        val replayed = dut.io.verdict.bits.replayed.peek().litToBoolean
        val tooOld = dut.io.verdict.bits.tooOld.peek().litToBoolean
        assert(!(replayed && tooOld))
        verdicts += (if (replayed) "replayed" else if (tooOld) "too old" else "good")
      }
      dut.clock.step()
    }
    dut.io.query.valid.poke(false)
    for (query <- queries) {
      for (_ <- 1 until query.gap) step()
      dut.io.query.valid.poke(true)
      dut.io.query.bits.sa.poke(query.sa)
      dut.io.query.bits.sequence.poke(query.sequence)
      dut.io.query.bits.window.poke(query.window)
      step()
      dut.io.query.valid.poke(false)
    }
    for (_ <- 0 to AntiReplay.latency) step()
    verdicts.toSeq
  }

  private def start(dut: AntiReplay): Unit = {
    dut.io.query.valid.poke(false)
    dut.io.clear.valid.poke(false)
    var cycles = 0
    while (!dut.io.ready.peek().litToBoolean) {
      dut.clock.step()
      cycles += 1
      assert(cycles < 100)
    }
  }

  private def clear(dut: AntiReplay, sa: Int): Unit = {
    dut.io.clear.valid.poke(true)
    dut.io.clear.bits.poke(sa)
    dut.clock.step()
    dut.io.clear.valid.poke(false)
  }

  /** `queries` on SAs that start anew. */
  private def fresh(dut: AntiReplay, queries: Seq[Query]): Seq[String] = {
    queries.map(_.sa).distinct.foreach(clear(dut, _))
    run(dut, queries)
  }

  private def model(queries: Seq[Query]): Seq[String] = {
    val models = mutable.Map.empty[Int, ReplayModel]
    queries.map(q => models.getOrElseUpdate(q.sa, new ReplayModel)(q.sequence, q.window))
  }

  private def check(dut: AntiReplay, queries: Seq[Query], clue: String): Unit = {
    val answers = fresh(dut, queries)
    assert(answers.size == queries.size, clue)
    for (((answer, expected), i) <- answers.zip(model(queries)).zipWithIndex)
      assert(answer == expected, s"$clue: query $i of ${queries.size}, ${queries(i)}, after ${queries.slice(i - 5, i)}")
  }

  private val high32 = BigInt(1) << 32

  test("RFC 4303 3.4.3 and appendix A2, RFC 6479: the boundaries, by hand") {
    simulate(new AntiReplay(saBits)) { dut =>
      start(dut)
      def sequence(window: Int)(steps: (BigInt, String)*): Unit = {
        val answers = fresh(dut, steps.map { case (number, _) => Query(3, number, window) })
        assert(answers == steps.map(_._2), s"window $window: ${steps.map(_._1)}")
      }
      // Number 0 is never sent; the first packet of an SA is 1, or any other.
      sequence(64)(BigInt(0) -> "replayed", BigInt(1) -> "good", BigInt(1) -> "replayed", BigInt(0) -> "replayed")
      sequence(64)(BigInt(64) -> "good", BigInt(0) -> "too old", BigInt(1) -> "good", BigInt(1) -> "replayed")
      // The left edge: with T the highest, T - W + 1 is the last in the window (RFC 4303 A2.1: Bl = Tl - W + 1).
      for (
        window <- Seq(64, 65, 100, 127, 1000, 1023, 1024);
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
      // Slides by one ring, one less and one more; what was received stays received, what was not does not become so.
      for (slide <- Seq(1, 31, 32, 33, 63, 64, 65, 1022, 1023, 1024, 1025, 2047, 2048, 2049)) {
        val base = BigInt(3000)
        val top = base + slide
        val expected = if (slide >= 1024) "too old" else "replayed"
        sequence(1024)(
          base -> "good",
          top -> "good",
          base -> expected,
          (top - 1023) -> (if (slide == 1023) "replayed" else "good"),
          (top - 1) -> (if (slide == 1) "replayed" else "good"),
          top -> "replayed"
        )
      }
      // RFC 4303 A2: across the turn of the low 32 bits, in both directions.
      sequence(1024)(
        (high32 - 1) -> "good",
        high32 -> "good",
        (high32 + 1) -> "good",
        (high32 - 2) -> "good",
        (high32 - 1) -> "replayed",
        (high32 + 1022) -> "good",
        (high32 - 1) -> "replayed",
        (high32 - 2) -> "too old"
      )
      // The last numbers there are.
      val end = (BigInt(1) << 64) - 1
      sequence(64)(
        (end - 1) -> "good",
        end -> "good",
        end -> "replayed",
        (end - 63) -> "good",
        (end - 64) -> "too old",
        BigInt(1) -> "too old",
        BigInt(0) -> "too old"
      )
      // A far jump forgets everything: nothing in the new window was received.
      sequence(1024)(
        BigInt(77) -> "good",
        (high32 * 5 + 77) -> "good",
        (high32 * 5 + 76) -> "good",
        (high32 * 5 + 77 - 1023) -> "good",
        BigInt(78) -> "too old"
      )
    }
  }

  test("random walks of one SA and of several, two cycles apart and more, agree with the model") {
    simulate(new AntiReplay(saBits)) { dut =>
      start(dut)
      for (seed <- 1 to 24) {
        val random = new Random(seed)
        val sas = Seq(1, 1, 2, 3, 16)(seed % 5)
        val window = Seq(64, 1024, 512, 100)(seed % 4)
        val tops = Array.fill(16)(if (seed % 3 == 0) high32 * random.nextInt(9) - random.nextInt(2000) max 1
        else BigInt(1 + random.nextInt(2000)))
        val queries = Seq.fill(600) {
          val sa = random.nextInt(sas)
          val number = random.nextInt(20) match {
            case 0 => tops(sa) + random.nextInt(4000)
            case 1 => tops(sa) - random.nextInt(2200) max 0
            case 2 => tops(sa)
            case n if n < 9 => tops(sa) + 1
            case _ => tops(sa) - random.nextInt(window + 2) max 0
          }
          tops(sa) = tops(sa).max(number)
          Query(sa, number, window, gap = if (seed % 2 == 0) 2 else 2 + random.nextInt(6))
        }
        check(dut, queries, s"seed $seed")
      }
      // A packet and its copy at each distance: never good twice.
      for (gap <- 2 to 12; between <- 0 to 2; other <- Seq(1, 2)) {
        val filler = Seq.tabulate(between)(i => Query(other, 500 + i, gap = 2))
        check(
          dut,
          Seq(Query(1, 10)) ++ filler ++ Seq(Query(1, 10, gap = gap)),
          s"gap $gap, $between packets of SA $other between"
        )
      }
    }
  }

  test("clearing an SA forgets its numbers and those of no other") {
    simulate(new AntiReplay(saBits)) { dut =>
      start(dut)
      assert(run(dut, Seq(Query(5, 9000), Query(6, 9000), Query(5, 9000))) == Seq("good", "good", "replayed"))
      clear(dut, 5)
      assert(run(
        dut,
        Seq(Query(5, 1), Query(6, 9000), Query(5, 1), Query(6, 1))
      ) == Seq("good", "replayed", "replayed", "too old"))
    }
  }
}
