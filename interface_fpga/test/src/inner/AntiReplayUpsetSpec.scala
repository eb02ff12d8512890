// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.memory.{CodedMemory, RowForward}
import sallyport.common.registers.map.ReplayRow
import sallyport.common.simulation.{CompiledOnce, Exchange}

import scala.collection.mutable
import scala.util.Random

/** Flips bits in the memories of [[AntiReplay]]. */
class AntiReplayUpsetBench(dut: FlippedReplay) extends AntiReplayBench(dut, dut.io) {

  /** Flips of the next run. */
  var flips: Map[Int, Flip] = Map.empty

  /** The cycle and name of each pulse of `upsets` in the last run. */
  val pulses: mutable.Buffer[(Int, String)] = mutable.Buffer.empty

  private def plant(flip: Option[Flip]): Unit = {
    dut.flip.valid.poke(flip.isDefined)
    for (f <- flip) {
      dut.flip.bits.top.poke(f.top)
      dut.flip.bits.row.poke(f.row)
      dut.flip.bits.place.poke(f.place)
    }
  }

  override def start(): Unit = {
    plant(None)
    super.start()
  }

  override protected def pass(cycle: Int): Unit = {
    val upsets = dut.io.upsets
    val pulsing = Exchange.peek(upsets.topRepaired, upsets.topLost, upsets.rowFilled)
    for ((pulse, name) <- pulsing.zip(Seq("top repaired", "top lost", "row filled")) if pulse == 1)
      pulses += cycle -> name
    plant(flips.get(cycle))
    super.pass(cycle)
  }

  override def run(queries: Seq[Query]): Seq[String] = {
    pulses.clear()
    try super.run(queries)
    finally {
      flips = Map.empty
      plant(None)
    }
  }

  /** As many SAs as results are kept, and their highest number. */
  private val otherSas = (8 until 16).take(RowForward.results(CodedMemory.latency))
  private var others = BigInt(0)

  /** Flips bits while no packet is under way, of a row that none of the last packets changed. */
  def flip(top: Boolean, row: Int, places: Int*): Unit = {
    others += 1
    assert(run(otherSas.map(Query(_, others))) == otherSas.map(_ => "good"))
    for (place <- places) {
      plant(Some(Flip(0, top, row, place)))
      dut.clock.step()
    }
    plant(None)
  }

  /** Which upsets the last run met. */
  def met: Seq[String] = pulses.map(_._2).toSeq
}

class AntiReplayUpsetSpec extends AnyFunSuite with CompiledOnce {
  override def brief = false

  import FlippedReplay.{groups, topBits}

  private val rowBits = 6
  private val sa = 3
  private val wordBits: Int = FlippedReplay.rowBits + groups

  private def bench(body: AntiReplayUpsetBench => Unit): Unit = simulate(new FlippedReplay(rowBits)) { dut =>
    val bench = new AntiReplayUpsetBench(dut)
    bench.start()
    body(bench)
  }
  private def queries(numbers: BigInt*): Seq[Query] = numbers.map(Query(sa, _))
  private def good(count: Int): Seq[String] = Seq.fill(count)("good")

  test("a highest number with one flipped bit, at every place, is right; with two the SA accepts nothing") {
    bench { bench =>
      val top = (BigInt(1) << 40) + 2000
      for (place <- 0 until topBits) {
        bench.clear(sa, 1024)
        assert(bench.run(queries(top - 1, top)) == good(2))
        // Repaired by a packet that is not ahead, and by one that is.
        bench.flip(top = true, bench.row(sa, 0), place)
        assert(bench.run(queries(top, top - 1024, top - 1)) == Seq("replayed", "too old", "replayed"), place)
        assert(bench.pulses == Seq(1 + ReplayUpsetModel.topWrites -> "top repaired"), place)
        bench.flip(top = true, bench.row(sa, 0), place)
        assert(bench.run(queries(top + 1, top, top + 2)) == Seq("good", "replayed", "good"), place)
        assert(bench.pulses == Seq(1 + ReplayUpsetModel.topWrites -> "top repaired"), place)
        assert(bench.run(queries(top + 2, top - 1021)) == Seq("replayed", "good") && bench.pulses.isEmpty, place)

        bench.flip(top = true, bench.row(sa, 0), place, (place + 20) % topBits)
        val end = (BigInt(1) << 64) - 1
        assert(bench.run(queries(top, 0, top + 3, end, 1)) == Seq.fill(5)("upset"), place)
        assert(bench.pulses == Seq(1 + ReplayUpsetModel.topWrites -> "top lost"), place)
        // One more flip does not bring it back, nor do two.
        bench.flip(top = true, bench.row(sa, 0), place)
        assert(bench.run(queries(top + 4)) == Seq("upset") && bench.met == Seq("top repaired"), place)
        bench.flip(top = true, bench.row(sa, 0), place, (place + 30) % topBits)
        assert(bench.run(queries(top + 4)) == Seq("upset") && bench.met == Seq("top lost"), place)
        assert(bench.read(sa, 1024)._1 == end, place)
      }
      bench.clear(sa, 1024)
      assert(bench.run(queries(1, 1, 2)) == Seq("good", "replayed", "good") && bench.pulses.isEmpty)
    }
  }

  test("a flipped bit of a window row, at every place, lets no number in again and costs its 64 or its row") {
    bench { bench =>
      // Every second number up to 1000 of block 5, and no other.
      val base = BigInt(5 * 1024)
      val last = 1000
      for (place <- 0 until wordBits) {
        bench.clear(sa, 1024)
        bench.preset(sa, 1024, (0 to last by 2).map(base + _).toSet)
        bench.flip(top = false, bench.row(sa, 0), place)
        val group = FlippedReplay.group(place)
        def isFilled(n: Int): Boolean = group == groups - 1 || (n / 64 == group && n <= last)
        // The flipped number itself, one that was not received, one of another word, one ahead.
        val n = if (place < 1024) place min last else 64 * (group min 15)
        val missing = (64 * (group min 14) + 1) | 1
        val other = (64 * ((group + 5) % 15)) | 1
        val expected = Seq(n, missing, other).map(n => n -> (if (n % 2 == 0 || isFilled(n)) "replayed" else "good")) ++
          Seq(last + 3 -> "good", last + 3 -> "replayed", last + 2 -> "good")
        assert(bench.run(queries(expected.map(base + _._1): _*)) == expected.map(_._2), place)
        assert(bench.pulses == Seq(1 + AntiReplay.latency -> "row filled"), place)
      }
      // A number ahead that meets a lost `last` is good; all of its row up to it is received.
      bench.clear(sa, 1024)
      assert(bench.run(queries(base + 100)) == good(1))
      bench.flip(top = false, bench.row(sa, 0), 1024 + 7)
      assert(bench.run(queries(base + 110)) == good(1) && bench.met == Seq("row filled"))
      val after = Seq(base + 109 -> "replayed", base + 90 -> "replayed", base + 112 -> "good", base + 111 -> "good")
      assert(bench.run(queries(after.map(_._1): _*)) == after.map(_._2) && bench.pulses.isEmpty)
      // Packets that are too old neither meet nor mend it.
      bench.flip(top = false, bench.row(sa, 0), 1024 + 9)
      assert(bench.run(queries(base + 112 - 1024)) == Seq("too old") && bench.pulses.isEmpty)
      assert(bench.run(queries(base + 113)) == good(1) && bench.met == Seq("row filled"))
    }
  }

  /** Flips at random while packets come; half of them where packets are. */
  private def storm(bench: AntiReplayUpsetBench, random: Random, queries: Seq[Query], rate: Double): Seq[String] = {
    val model = new ReplayUpsetModel(bench.row)
    val flips = mutable.Map.empty[Int, Flip]
    var cycle, decided = -1
    val expected = for (query <- queries) yield {
      cycle += query.gap
      // The packet's window row is read three cycles later.
      for (at <- decided + 1 to cycle + 3 if random.nextDouble() < rate) {
        val other = if (random.nextBoolean()) query else queries(random.nextInt(queries.size))
        val top = random.nextBoolean()
        val row = bench.row(other.sa, if (top) 0 else random.nextInt(ReplayModel.ring(other.window)))
        val place =
          if (top) random.nextInt(topBits)
          else if (random.nextInt(4) == 0) 1024 + random.nextInt(64)
          else random.nextInt(wordBits)
        val flip = Flip(at, top, row, place)
        // Few second flips, for they end an SA.
        val rare = top && model.standing(row) > 0 && random.nextInt(50) > 0
        if (!rare && model.plant(flip)) flips(at) = flip
      }
      decided = cycle + 3
      model(query, cycle)
    }
    queries.map(q => q.sa -> q.window).distinct.foreach { case (sa, window) => bench.clear(sa, window) }
    bench.flips = flips.toMap
    val answers = bench.run(queries)
    for (((answer, verdict), i) <- answers.zip(expected).zipWithIndex)
      assert(answer == verdict, s"query $i, ${queries(i)}")
    assert(bench.pulses.sorted == model.pulses.sorted)
    val accepted = queries.zip(answers).collect { case (query, "good") => query.sa -> query.sequence }
    assert(accepted.distinct == accepted, "a number was accepted twice")
    bench.met
  }

  test("random flips under random traffic, one SA at full rate and many, agree with the model") {
    bench { bench =>
      val windows = Seq(64, 1023, 1024, 1025, 2048, 2049, 4096)
      val starts = Seq(BigInt(1), (BigInt(1) << 32) - 3000, (BigInt(1) << 44) - 500)
      val met = mutable.Buffer.empty[String]
      for ((window, i) <- windows.zipWithIndex; start <- starts; rate <- Seq(0.05, 0.5)) {
        val random = new Random(i)
        met ++= storm(bench, random, ReplayWalk(random, 400, Map(1 -> window), start, 2), rate)
      }
      for (seed <- 1 to 12) {
        val random = new Random(seed)
        val windowOf = Seq.tabulate(Seq(2, 3, 9, 16)(seed % 4))(sa => sa -> windows((sa + seed) % windows.size)).toMap
        val gap = () => if (seed % 2 == 0) 2 else 2 + random.nextInt(9)
        met ++= storm(bench, random, ReplayWalk(random, 600, windowOf, starts(seed % 3), gap()), 0.3)
      }
      val count = met.groupBy(identity).map { case (name, all) => name -> all.size }.withDefaultValue(0)
      assert(count("top repaired") > 500 && count("row filled") > 500 && count("top lost") > 10, count)
    }
  }

  test("a flip at each cycle beside a packet that changes the row: its copy is never good") {
    bench { bench =>
      for (gap <- 2 to 14; at <- 0 to 36; place <- Seq(Left(3), Left(70), Right(10), Right(1024 + 4), Right(1088))) {
        val packets = Seq(Query(sa, 10), Query(sa, 11), Query(sa, 10, gap = gap), Query(sa, 11), Query(sa, 12))
        val model = new ReplayUpsetModel(bench.row)
        val flip = Flip(at, place.isLeft, bench.row(sa, 0), place.merge)
        assert(model.plant(flip))
        val cycles = packets.map(_.gap).scanLeft(-1)(_ + _).tail
        val expected = packets.zip(cycles).map { case (packet, cycle) => model(packet, cycle) }
        bench.clear(sa, 1024)
        bench.flips = Map(at -> flip)
        assert(bench.run(packets) == expected, s"gap $gap, $flip")
        assert(bench.pulses.sorted == model.pulses.sorted, s"gap $gap, $flip")
      }
    }
  }

  test("software reads rows without flipped bits, and makes right what it writes") {
    bench { bench =>
      val all = (BigInt(1) << 512) - 1
      val end = (BigInt(1) << 64) - 1
      val row = bench.row(sa, 0)
      def half(n: Int): BigInt = bench.access(2 * row + n).get
      val numbers = Set(BigInt(3), BigInt(700), BigInt(900))
      def preset(): Unit = bench.preset(sa, 1024, numbers)

      preset()
      val before = Seq(half(0), half(1))
      bench.flip(top = true, row, 5)
      assert(Seq(half(0), half(1)) == before)
      bench.flip(top = true, row, 6)
      assert(ReplayRow.top(half(0)) == end && ReplayRow.received(half(1)) == ReplayRow.received(before(1)))
      preset()
      assert(Seq(half(0), half(1)) == before)

      // A wrong word is all received, here numbers 704 to 767; the half beside it is as it was.
      bench.flip(top = false, row, 710)
      assert(half(0) == before.head)
      assert(ReplayRow.received(half(1)) == (ReplayRow.received(before(1)) | (BigInt(1) << 256) - (BigInt(1) << 192)))
      // A write of the other half keeps it so, with right parity; a write of this half mends it.
      assert(bench.access(2 * row, Some(before.head)).isDefined)
      assert(ReplayRow.received(half(1)).bitCount == 64 + 2)
      assert(bench.access(2 * row + 1, Some(before(1))).isDefined)
      assert(Seq(half(0), half(1)) == before)

      bench.flip(top = false, row, 1024 + 63)
      for (n <- 0 to 1)
        assert(ReplayRow.last(half(n)) == end && ReplayRow.received(half(n)) == all && ReplayRow.top(half(n)) == 900)
      preset()
      assert(Seq(half(0), half(1)) == before)
      assert(bench.run(queries(3, 700, 900, 701, 901)) == Seq.fill(3)("replayed") ++ good(2) && bench.pulses.isEmpty)
    }
  }
}
