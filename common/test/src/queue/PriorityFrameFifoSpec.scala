// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

class PriorityFrameFifoSpec extends AnyFunSuite with CompiledOnce {
  private val beats = Map(false -> 16, true -> 8)

  private case class Frame(id: Int, high: Boolean, beats: Int, error: Boolean)

  /** One beat: its packet, its number in the packet, and whether it is the last. */
  private case class Beat(frame: Frame, index: Int) {
    def last: Boolean = index == frame.beats - 1
    def data: BigInt = (BigInt(frame.id) << 480) | BigInt(index + 1)
  }

  /**
   * The packets a queue has whole, as [[MemoryQueue]] and [[SkidBuffer]] tell of them: a cycle
   * later, or 3 through the memory.
   */
  private class Whole {
    private val memory, slice = mutable.Queue.empty[Frame]
    private var coming, kept = Option.empty[Frame]

    def head: Option[Frame] = kept.orElse(slice.headOption)

    def step(done: Boolean, added: Option[Frame]): Unit = {
      val (taken, known) = (kept.isEmpty, slice.size + coming.size)
      val reads = memory.nonEmpty && (known < 2 || taken && slice.nonEmpty)
      val passes = memory.isEmpty && coming.isEmpty && known < 2
      val before = head
      if (taken && slice.nonEmpty) slice.dequeue()
      kept = before.filterNot(_ => done)
      slice ++= coming
      coming = Option.when(reads)(memory.dequeue())
      for (frame <- added) if (passes) slice += frame else memory += frame
    }
  }

  /** One of the two queues: the stored packets, and the one being written. */
  private class Store(rows: Int) {
    val whole = new Whole
    private var added = Option.empty[Frame]
    private var used, partial = 0
    private var doomed = false

    def write(beat: Beat, count: String => Unit): Unit = {
      if (used == rows) doomed = true
      if (!doomed) { used += 1; partial += 1 }
      if (beat.last) {
        val bad = beat.frame.error || doomed
        if (beat.frame.error) count("error")
        else if (doomed) count("overflow")
        else { count("stored"); added = Some(beat.frame) }
        if (bad) used -= partial
        partial = 0
        doomed = false
      } else if (doomed) { used -= partial; partial = 0 }
    }
    def read(): Unit = used -= 1
    def step(done: Boolean): Unit = {
      whole.step(done, added)
      added = None
    }
  }

  /** What the contract says, beat by beat and cycle by cycle. */
  private class Model {
    private val stores = beats.map { case (high, rows) => high -> new Store(rows) }
    private val reading: mutable.Queue[(Beat, Int)] = mutable.Queue.empty
    private var current = Option.empty[Beat]
    private var cycle = 0
    val counts: mutable.Map[(String, Boolean), Int] = mutable.Map.empty.withDefaultValue(0)

    /** What `out` shows in this cycle. */
    def out: Option[Beat] = reading.headOption.collect { case (beat, from) if from <= cycle => beat }

    def step(in: Option[Beat], ready: Boolean): Unit = {
      val next = current.orElse(
        Seq(true, false).flatMap(stores(_).whole.head).headOption.map(Beat(_, 0))
      )
      val leaves = out.nonEmpty && ready
      val room = reading.size < 2 || ready
      if (leaves) reading.dequeue()
      val freed = next.filter(_ => room).map { beat =>
        reading.enqueue(beat -> (cycle + 2))
        current = Option.when(!beat.last)(Beat(beat.frame, beat.index + 1))
        beat
      }
      // A row that is read is free from the next cycle on.
      for (beat <- in) stores(beat.frame.high).write(beat, name => counts((name, beat.frame.high)) += 1)
      for (beat <- freed) stores(beat.frame.high).read()
      for ((high, store) <- stores) store.step(freed.exists(beat => beat.last && beat.frame.high == high))
      cycle += 1
    }
  }

  private class Bench(dut: PriorityFrameFifo[UInt]) {
    val model = new Model
    val counts: mutable.Map[String, Int] = mutable.Map.empty.withDefaultValue(0)
    var left = 0

    def step(in: Option[Beat], ready: Boolean, clue: String): Unit = {
      dut.io.in.valid.poke(in.nonEmpty)
      for (beat <- in) {
        dut.io.high.poke(beat.frame.high)
        dut.io.in.bits.data.poke(beat.data)
        dut.io.in.bits.last.poke(beat.last)
        dut.io.in.bits.bytes.poke(64)
        dut.io.in.bits.error.poke(beat.last && beat.frame.error)
        dut.io.in.bits.meta.poke(beat.frame.id & 0xff)
      }
      dut.io.out.ready.poke(ready)
      assert(dut.io.in.ready.peek().litToBoolean, "the input was stalled")
      val out = Option.when(dut.io.out.valid.peek().litToBoolean)(dut.io.out.bits)
      assert(out.nonEmpty == model.out.nonEmpty, s"$clue: valid, expected ${model.out}")
      for ((bits, beat) <- out.zip(model.out)) {
        val seen = (bits.data.peek().litValue, bits.last.peek().litToBoolean, bits.meta.peek().litValue.toInt)
        assert(seen == (beat.data, beat.last, beat.frame.id & 0xff), s"$clue: expected $beat")
        if (ready) left += 1
      }
      val events = Seq(
        "error" -> dut.io.droppedError,
        "overflow" -> dut.io.droppedOverflow,
        "highOverflow" -> dut.io.droppedHighOverflow,
        "highStored" -> dut.io.storedHigh
      )
      for ((name, event) <- events) if (event.peek().litToBoolean) counts(name) += 1
      model.step(in, ready)
      dut.clock.step()
    }

    def balance(clue: String): Unit = {
      step(None, ready = false, clue)
      val expected = model.counts
      assert(counts("error") == expected(("error", false)) + expected(("error", true)), clue)
      assert(counts("overflow") == expected(("overflow", false)), clue)
      assert(counts("highOverflow") == expected(("overflow", true)), clue)
      assert(counts("highStored") == expected(("stored", true)), clue)
    }
  }

  test("each beat is where and when a model of two queues has it, at every pace") {
    simulate(new PriorityFrameFifo(UInt(8.W), beats(false), beats(true))) { dut =>
      val random = new Random(1)
      val bench = new Bench(dut)
      var id = 0
      for (offered <- Seq(100, 90, 50); taken <- Seq(100, 90, 50, 20); share <- Seq(0, 10, 50, 100)) {
        val clue = s"offered $offered %, taken $taken %, high $share %"
        for (_ <- 0 until 60) {
          val frame = Frame(id, random.nextInt(100) < share, 1 + random.nextInt(6), random.nextInt(12) == 0)
          id += 1
          for (index <- 0 until frame.beats) {
            while (random.nextInt(100) >= offered) bench.step(None, random.nextInt(100) < taken, clue)
            bench.step(Some(Beat(frame, index)), random.nextInt(100) < taken, clue)
          }
        }
        bench.balance(clue)
      }
      for (_ <- 0 until 60) bench.step(None, ready = true, "at the end")
      assert(bench.model.out.isEmpty)
      for (name <- Seq("error", "overflow", "highOverflow", "highStored")) assert(bench.counts(name) > 50, name)
    }
  }

  test("packets of one beat every cycle in both queues, 3 cycles behind; what is longer than its queue is dropped") {
    simulate(new PriorityFrameFifo(UInt(8.W), beats(false), beats(true))) { dut =>
      val bench = new Bench(dut)
      for (n <- 0 until 100)
        bench.step(Some(Beat(Frame(n, n % 3 == 0, 1, error = false), 0)), ready = true, s"packet $n")
      assert(bench.left == 100 - 3)
      for (_ <- 0 until 3) bench.step(None, ready = true, "the last three")
      assert(bench.left == 100)
      for (high <- Seq(true, false)) {
        val long = Frame(200, high, beats(high) + 1, error = false)
        for (index <- 0 until long.beats) bench.step(Some(Beat(long, index)), ready = true, "too long")
        val longest = Frame(201, high, beats(high), error = false)
        for (index <- 0 until longest.beats) bench.step(Some(Beat(longest, index)), ready = true, "the longest")
        for (_ <- 0 until 20) bench.step(None, ready = true, "behind it")
      }
      assert(bench.left == 100 + beats(true) + beats(false))
      bench.balance("at the end")
      assert(bench.counts("overflow") == 1 && bench.counts("highOverflow") == 1)
    }
  }
}
