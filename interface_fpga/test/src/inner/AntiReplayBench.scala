// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.simulator.PeekPokeAPI
import sallyport.common.registers.map.ReplayRow
import sallyport.common.simulation.Exchange

import scala.collection.mutable

/** A packet of SA `sa`, `gap` cycles after the one before. */
case class Query(sa: Int, sequence: BigInt, window: Int = 1024, gap: Int = 2)

/**
 * Drives [[AntiReplay]] with 64 window rows: 16 SAs of four rows each, which lie apart and in
 * no order.
 */
class AntiReplayBench(dut: Module, io: AntiReplayIO) extends PeekPokeAPI {
  private val ringRows = 4

  /** Row r of SA n. What a small window must leave alone is the first row of the next SA. */
  def row(sa: Int, r: Int): Int = ((ringRows * sa + r) * 37 + 7) % 64
  private def rows(sa: Int, window: Int): Seq[Int] =
    Seq.tabulate(ringRows)(r => if (r < ring(window)) row(sa, r) else row((sa + 1) % 16, 0))
  private def ring(window: Int): Int = ReplayModel.ring(window)

  /** Lets the `cycle` of a run pass. */
  protected def pass(cycle: Int): Unit = dut.clock.step()

  def start(): Unit = {
    io.query.valid.poke(false)
    io.clear.valid.poke(false)
    io.table.request.valid.poke(false)
    var cycles = 0
    while (!io.ready.peek().litToBoolean) {
      dut.clock.step()
      cycles += 1
      assert(cycles < 100)
    }
  }

  def clear(sa: Int, window: Int): Unit = {
    io.clear.valid.poke(true)
    for ((port, number) <- io.clear.bits.rows.zip(rows(sa, window))) port.poke(number)
    io.clear.bits.window.poke(window)
    dut.clock.step()
    io.clear.valid.poke(false)
    dut.clock.step(AntiReplay.clearCycles)
  }

  /** Verdicts of `queries`, each exactly after the latency. */
  def run(queries: Seq[Query]): Seq[String] = {
    val verdicts = mutable.Buffer.empty[String]
    val due = mutable.Queue.empty[Int]
    var cycle = 0
    def step(): Unit = {
      val valid = io.verdict.valid.peek().litToBoolean
      assert(valid == due.headOption.contains(cycle), s"cycle $cycle: a verdict is due in ${due.headOption}")
      if (valid) {
        due.dequeue()
        val bits = io.verdict.bits
        val Seq(replayed, tooOld, upset) = Exchange.peek(bits.replayed, bits.tooOld, bits.upset).map(_ == 1)
        assert(Seq(replayed, tooOld, upset).count(identity) <= 1)
        verdicts += (if (replayed) "replayed" else if (tooOld) "too old" else if (upset) "upset" else "good")
      }
      pass(cycle)
      cycle += 1
    }
    for (query <- queries) {
      for (_ <- 1 until query.gap) step()
      io.query.valid.poke(true)
      for ((port, number) <- io.query.bits.rows.zip(rows(query.sa, query.window))) port.poke(number)
      io.query.bits.sequence.poke(query.sequence)
      io.query.bits.window.poke(query.window)
      due.enqueue(cycle + AntiReplay.latency)
      step()
      io.query.valid.poke(false)
    }
    for (_ <- 0 to AntiReplay.latency) step()
    assert(due.isEmpty)
    verdicts.toSeq
  }

  /** `queries` on SAs that start anew. */
  def fresh(queries: Seq[Query]): Seq[String] = {
    queries.map(q => q.sa -> q.window).distinct.foreach { case (sa, window) => clear(sa, window) }
    run(queries)
  }

  /** Compares with the model, from SAs that start anew unless models are given. */
  def check(
      queries: Seq[Query],
      clue: String,
      known: Option[mutable.Map[Int, ReplayModel]] = None
  ): mutable.Map[Int, ReplayModel] = {
    val models = known.getOrElse(mutable.Map.empty[Int, ReplayModel])
    val answers = if (known.isEmpty) fresh(queries) else run(queries)
    for (((answer, query), i) <- answers.zip(queries).zipWithIndex) {
      val expected = models.getOrElseUpdate(query.sa, new ReplayModel)(query.sequence, query.window)
      assert(
        answer == expected,
        s"$clue: $answer, not $expected: query $i of ${queries.size}, $query, after ${queries.slice(i - 5, i)}"
      )
    }
    models
  }

  /** Software's access to half a row; the row it answers, or nothing for an error. */
  def access(index: Int, write: Option[BigInt] = None): Option[BigInt] = {
    val port = io.table
    port.request.valid.poke(true)
    port.request.bits.index.poke(index)
    port.request.bits.write.poke(write.isDefined)
    port.request.bits.row.poke(write.getOrElse(BigInt(0)))
    def until(port: Bool): Unit = assert(Exchange.stepUntil(dut.clock, port, limit = 1000) < 1000)
    until(port.request.ready)
    dut.clock.step()
    port.request.valid.poke(false)
    until(port.response.valid)
    val Seq(error, row) = Exchange.peek(port.response.bits.error, port.response.bits.row)
    val answer = Option.when(error == 0)(row)
    dut.clock.step()
    answer
  }

  /**
   * Presets an SA to `received` and the highest of them, as docs/reference/tables.md tells
   * software to.
   */
  def preset(sa: Int, window: Int, received: Set[BigInt]): Unit = {
    val top = received.max
    for (r <- 0 until ring(window)) {
      // The last number up to the top that is in this row.
      val last = Iterator.iterate(top)(_ - 1).takeWhile(_ >= 0).take(4096).find(n => (n / 1024) % ring(window) == r)
      val mine = received.filter(n => n > top - ring(window) * 1024 && (n / 1024) % ring(window) == r).map(_ % 1024)
      for (half <- 0 to 1) {
        val bits = mine.filter(_ / 512 == half).foldLeft(BigInt(0))((sum, n) => sum.setBit((n % 512).toInt))
        val value =
          ReplayRow.received.put(bits) | ReplayRow.last.put(last.getOrElse(BigInt(0))) | ReplayRow.top.put(top)
        assert(access(2 * row(sa, r) + half, Some(value)).isDefined)
      }
    }
  }

  /** Reads an SA's highest number and what its window holds. */
  def read(sa: Int, window: Int): (BigInt, Set[BigInt]) = {
    val halves = Seq.tabulate(ring(window), 2)((r, half) => access(2 * row(sa, r) + half).get)
    val top = ReplayRow.top(halves.head.head)
    val numbers = Iterator.iterate(top)(_ - 1).take(window).takeWhile(_ > 0).filter { n =>
      val row = halves(((n / 1024) % ring(window)).toInt)
      val last = ReplayRow.last(row.head)
      // Above `last` nothing was received; a ring or more below it the bits are of other numbers.
      n <= last && n > last - ring(window) * 1024 &&
      ReplayRow.received(row((n % 1024 / 512).toInt)).testBit((n % 512).toInt)
    }
    (top, numbers.toSet)
  }
}
