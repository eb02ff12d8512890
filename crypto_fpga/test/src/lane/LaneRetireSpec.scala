// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.queue.LutQueue
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.suite.Suite

import scala.collection.mutable

class LaneRetireSpec extends AnyFunSuite with CompiledOnce {

  private val beats = 3
  private val config = LaneConfig(encrypt = true, Seq(Suite.named("sm4-sm3")), slots = 32, bufferBeats = 512)

  /** Packets in the order of their slots, `beats` long each; the buffer is here. */
  private class Bench(dut: LaneRetire) {
    private val rows = mutable.Map.empty[Int, BigInt]
    private val finished = dut.io.finished
    private var done = BigInt(0)
    private var read = Option.empty[Int]
    private var (begun, gone) = (0, 0)

    /** Where the intake says that the next packet begins, if not behind the last one. */
    var nextRow = Option.empty[Int]

    /** Of rows that are read: these are a packet's bytes, or name another row. */
    var broken = Set.empty[Int]
    var refused = 0

    dut.reset.poke(true)
    dut.clock.step()
    dut.reset.poke(false)
    for (low <- Seq(dut.io.hold, dut.io.crowded, dut.io.busy, dut.io.take, dut.io.begins, dut.io.zeroize))
      low.poke(false)
    while (dut.io.clearing.peek().litToBoolean) step()

    def step(cycles: Int = 1): Unit = for (_ <- 0 until cycles) {
      dut.io.done.poke(done)
      dut.io.empty.poke(begun == gone)
      dut.io.nextRow.poke(nextRow.getOrElse(begun * beats))
      val slot = dut.io.slot.peek().litValue.toInt
      finished.base.poke(slot * beats)
      finished.beats.poke(beats)
      finished.verdict.poke(Verdict.ok)
      finished.words.poke(slot)
      for (row <- read) {
        dut.io.beat.poke(rows.getOrElse(row, BigInt(0)))
        dut.io.record.poke(rows.contains(row) && !broken(row))
      }
      if (dut.io.refused.peek().litToBoolean) refused += 1
      if (dut.io.taken.peek().litToBoolean) done = done.clearBit(slot)
      if (dut.io.write.valid.peek().litToBoolean) {
        assert(dut.io.write.bits.record.peek().litToBoolean)
        rows(dut.io.write.bits.row.peek().litValue.toInt) = dut.io.write.bits.data.peek().litValue
      }
      read = Option.when(dut.io.read.valid.peek().litToBoolean)(dut.io.read.bits.peek().litValue.toInt)
      dut.clock.step()
    }

    /** What two packets' rows hold. */
    def swap(one: Int, other: Int): Unit = {
      val held = rows(one * beats)
      rows(one * beats) = rows(other * beats)
      rows(other * beats) = held
    }

    /** Bits of a packet's record, all of one kind of fact. */
    def flip(packet: Int, bits: Int*): Unit = for (bit <- bits) rows(packet * beats) = rows(packet * beats).flipBit(bit)

    def begin(packets: Int): Unit = for (_ <- 0 until packets) {
      begun += 1
      dut.io.begins.poke(true)
      step()
      dut.io.begins.poke(false)
    }

    def finish(slots: Int*): Unit = for (slot <- slots) {
      done = done.setBit(slot)
      step(12)
    }

    def zeroize(): Unit = {
      dut.io.zeroize.poke(true)
      step()
      dut.io.zeroize.poke(false)
    }

    /** The number of the packet at the front, and its verdict; it is taken. */
    def take(): Option[(Int, BigInt)] = Option.when(dut.io.front.valid.peek().litToBoolean) {
      val packet = (dut.io.front.bits.words.peek().litValue.toInt, dut.io.front.bits.verdict.peek().litValue)
      dut.io.take.poke(true)
      step()
      dut.io.take.poke(false)
      step(12)
      gone += 1
      packet
    }

    /**
     * Cycles a packet from the first one taken to the last, where `ahead` packets are in the buffer
     * before the oldest is done, and each is taken as soon as it is at the front. With `shared` the
     * port is busy in one cycle of four, as the hashes read, and the slots' memories in one of two.
     */
    def pace(packets: Int, ahead: Int, shared: Boolean): Double = {
      begin(packets)
      finish(1 to ahead: _*)
      done = done.setBit(0)
      var (finished, cycle, took) = (ahead, 0, Seq.empty[(Int, Int)])
      while (took.length < packets - ahead) {
        if (done <= 1 && finished + 1 < packets) {
          finished += 1
          done = done.setBit(finished)
        }
        dut.io.busy.poke(shared && cycle % 4 == 0)
        dut.io.hold.poke(shared && cycle % 2 == 0)
        val atFront = dut.io.front.valid.peek().litToBoolean
        if (atFront) took :+= dut.io.front.bits.words.peek().litValue.toInt -> cycle
        dut.io.take.poke(atFront)
        cycle += 1
        step()
        assert(cycle < 40 * packets, s"after ${took.length} packets none follows")
      }
      dut.io.take.poke(false)
      assert(took.map(_._1) == took.indices)
      (took.last._2 - took.head._2).toDouble / (took.length - 1)
    }

    def takeAll(): Seq[Int] = Iterator.continually(take()).takeWhile(_.isDefined).flatten.map(_._1).toSeq

    def isFree(slot: Int): Boolean = !done.testBit(slot)
  }

  private def run(body: Bench => Unit): Unit = simulate(new LaneRetire(config))(dut => body(new Bench(dut)))

  test("packets leave their slots as they are done, and the lane in the order in which they came") {
    run { bench =>
      bench.begin(20)
      val late = Seq(3, 0)
      bench.finish((0 until 20).filterNot(late.contains).reverse: _*)
      assert((0 until 20).forall(bench.isFree))
      assert(bench.takeAll() == Nil)
      bench.finish(0)
      assert(bench.takeAll() == Seq(0, 1, 2))
      bench.finish(3)
      assert(bench.takeAll() == (3 until 20))
      assert(bench.refused == 0)
    }
  }

  test("the next packet waits for the queue without the buffer, unless the lane is crowded") {
    val packets = 0 until 19 // one at the front, 16 in the queue, one held, one in its slot
    run { bench =>
      bench.begin(packets.length)
      bench.finish(packets: _*)
      assert(packets.init.forall(bench.isFree) && !bench.isFree(packets.last))
      assert(bench.takeAll() == packets)
    }
    simulate(new LaneRetire(config)) { dut =>
      val bench = new Bench(dut)
      dut.io.crowded.poke(true)
      bench.begin(packets.length)
      bench.finish(packets: _*)
      assert(packets.forall(bench.isFree))
      assert(bench.takeAll() == packets)
    }
  }

  test("a packet's bytes are no record, whatever row is marked, and a record is of its own row") {
    val record = new LaneRecord(config).getWidth
    val verdict = new LaneFinished(config).getWidth - config.rowBits - LaneFrame.beatBits - Verdict.getWidth
    // The check is the lowest field of a record.
    val flipped = Seq(verdict, verdict + 1).map(_ + record - new LaneFinished(config).getWidth)
    val all = Seq[Bench => Unit](_.broken = Set(beats), _.swap(1, 2)) ++ flipped.map(bit => (_: Bench).flip(1, bit))
    for (flips <- all) run { bench =>
      bench.begin(3)
      bench.finish(2, 1)
      flips(bench)
      bench.finish(0)
      assert(bench.takeAll() == Seq(0), "nothing is at the front")
      assert(bench.refused == 1)
    }
  }

  test("a mark on a row at which no packet begins brings no old record to the front") {
    run { bench =>
      bench.begin(2)
      bench.finish(1)
      bench.nextRow = Some(beats)
      bench.finish(0)
      assert(bench.takeAll() == Seq(0))
      bench.nextRow = None
      bench.step(12)
      assert(bench.takeAll() == Seq(1), "a packet has begun there")
    }
  }

  test("a packet whose record flips in the queue never comes to the front, nor one behind it for its grant") {
    simulate(new LaneRetire(config, new FlippingQueue(_))) { dut =>
      val bench = new Bench(dut)
      bench.begin(3)
      bench.finish(0, 1, 2)
      assert(bench.takeAll() == Seq(0) && bench.refused == 1)
      bench.step(50)
      assert(bench.takeAll() == Nil)
    }
  }

  test("packets that are in the lane when keys are erased come out as zeroized, those behind do not") {
    run { bench =>
      bench.begin(4)
      bench.finish(3, 1, 0)
      bench.zeroize()
      bench.begin(1)
      bench.finish(4, 2)
      val packets = Iterator.continually(bench.take()).takeWhile(_.isDefined).flatten.toSeq
      assert(packets.map(_._1) == (0 to 4))
      val zeroized = packets.map(_._2 == Verdict.zeroized.litValue)
      assert(zeroized == Seq(true, true, true, true, false))
    }
  }

  test("a packet that goes by the buffer takes no more cycles than its hash, alone or not") {
    for (shared <- Seq(false, true)) run { bench =>
      val pace = bench.pace(packets = 30, ahead = 8, shared)
      assert(pace <= LaneRetireSpec.mostCycles, s"$pace cycles, shared: $shared")
    }
  }
}

/** The record of packet 1 comes out with a wrong verdict. */
private class FlippingQueue(gen: LaneRecord) extends LutQueue(gen, LaneRetire.ahead) {
  override protected def answered(bits: LaneRecord): LaneRecord = {
    val flips = bits.finished.words === 1.U
    val wrong = WireDefault(bits)
    when(flips) { wrong.finished.verdict := Verdict.badIcv }
    wrong
  }
}

private object LaneRetireSpec {

  /** Of a packet of the smallest frame a hash takes 12: three blocks of 4 cycles. */
  val mostCycles = 10
}
