// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

/**
 * Erasure by a contact that bounces: whatever its rhythm, a pass ends, and one follows the
 * last trigger.
 */
class ZeroizerSpec extends AnyFunSuite with CompiledOnce {

  private val lanesCycles = 40

  /**
   * Drives a zeroizer; knows the cycles in which its lanes were told to forget and its tables
   * to clear.
   */
  private class Bench(dut: Zeroizer) {
    var lanes, tables = Seq.empty[Int]
    var now = 0

    def step(tamper: Boolean = false, request: Boolean = false): Unit = {
      dut.io.tamper.poke(tamper)
      dut.io.request.poke(request)
      dut.clock.step()
      now += 1
      if (dut.io.zeroizeLanes.peek().litToBoolean) lanes :+= now
      if (dut.io.clearTables.peek().litToBoolean) tables :+= now
    }
    def blocked: Boolean = dut.io.blocked.peek().litToBoolean
    def untilFree(): Unit = {
      val start = now
      while (blocked) { step(); assert(now - start < 4 * lanesCycles, "blocked for ever") }
    }

    dut.io.tablesReady.poke(true)
    dut.reset.poke(true)
    step()
    dut.reset.poke(false)
    untilFree()
    lanes = Nil
    tables = Nil
  }

  test("a single trigger makes one pass") {
    simulate(new Zeroizer(lanesCycles)) { dut =>
      val bench = new Bench(dut)
      import bench._
      step(request = true)
      assert(blocked)
      untilFree()
      assert(lanes.length == 4 && lanes.last - lanes.head == 3 && tables.length == 1)
      assert(now - tables.head <= lanesCycles + 16)
    }
  }

  test("tamper chatter: lanes have the whole of a pass, and one more after the last trigger") {
    simulate(new Zeroizer(lanesCycles)) { dut =>
      val random = new Random(26)
      // A contact that changes in every cycle, in every n-th, and at random.
      val rhythms = (1 to 9).map(n => (i: Int) => i / n % 2 == 0) :+ ((_: Int) => random.nextBoolean())
      for ((rhythm, number) <- rhythms.zipWithIndex) {
        val bench = new Bench(dut)
        import bench._
        val chatter = 10 * lanesCycles
        for (i <- 0 until chatter) { step(tamper = rhythm(i)); assert(blocked || i < 3, s"rhythm $number") }
        val end = tables.last
        untilFree()
        // Orders of four cycles, each with the time of a whole pass until the next.
        val orders = lanes.grouped(4).toSeq
        assert(orders.forall(order => order.length == 4 && order.last - order.head == 3), s"rhythm $number: $lanes")
        val starts = orders.map(_.head)
        assert(starts.zip(starts.drop(1)).forall { case (a, b) => b - a > lanesCycles }, s"rhythm $number: $starts")
        assert(starts.length >= chatter / (lanesCycles + 8), s"rhythm $number: $starts")
        assert(starts.last >= tables.filter(_ <= end).last - 1, s"rhythm $number: no pass after the last trigger")
        assert(now - end <= 2 * lanesCycles + 24, s"rhythm $number")
      }
    }
  }

  test("a tamper input that stays high keeps the chip blocked") {
    simulate(new Zeroizer(lanesCycles)) { dut =>
      val bench = new Bench(dut)
      import bench._
      for (i <- 0 until 6 * lanesCycles) { step(tamper = true); assert(blocked || i < 3) }
      assert(dut.io.tampered.peek().litToBoolean)
      untilFree()
      assert(lanes.length == 8, "once as it rises, once as it falls")
    }
  }
}
