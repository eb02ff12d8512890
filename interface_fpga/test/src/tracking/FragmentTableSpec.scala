// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tracking

import chisel3._
import chisel3.simulator.PeekPokeAPI
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.CuckooHash

import scala.collection.mutable
import scala.util.Random

/** The contract of [[FragmentTable]], by its hash alone: no pipeline, no memory. */
private class TableModel(sets: Int, keyBits: Int, timeout: Int) {
  case class Row(key: BigInt, upper: Int, units: Int, born: Int)
  private val rows = mutable.Map[Int, Vector[Row]]().withDefaultValue(Vector.empty)

  /** Known, the upper layer's word, conflict, overlap. */
  def ask(
      key: BigInt,
      first: Boolean,
      upper: Int,
      units: Int,
      offset: Int,
      now: Int
  ): (Boolean, Int, Boolean, Boolean) = {
    val set = CuckooHash.row(0, key, keyBits, sets)
    rows(set).find(row => row.key == key && now - row.born < timeout) match {
      case Some(row) if first => (true, upper, row.upper != upper, false)
      case Some(row) => (true, row.upper, false, row.units > offset)
      case None if first =>
        rows(set) = (rows(set) :+ Row(key, upper, units, now)).takeRight(FragmentTable.ways)
        (true, upper, false, false)
      case None => (false, 0, false, false)
    }
  }
}

class FragmentTableSpec extends AnyFunSuite with CompiledOnce with PeekPokeAPI {
  private val keyBits = 40
  private val timeout = 5

  test("each query finds what those before it wrote, two cycles later or more; the oldest of a set gives way") {
    simulate(new FragmentTable(TrackerConfig.small, keyBits)) { dut =>
      val dice = new Random(1)
      var cycle = 0
      var now = 0
      val model = new TableModel(TrackerConfig.small.sets, keyBits, timeout)
      val due = mutable.Map[Int, (Boolean, Int, Boolean, Boolean)]()
      val keys = Vector.fill(700)(BigInt(keyBits, dice))
      val met = mutable.Map[String, Int]().withDefaultValue(0)
      def step(): Unit = {
        dut.clock.step()
        cycle += 1
        for ((known, upper, conflict, overlap) <- due.remove(cycle)) {
          assert(dut.io.answer.known.peekBoolean() == known, cycle)
          if (known) {
            assert(dut.io.answer.upper.word.peekValue().asBigInt == upper, cycle)
            assert(dut.io.answer.conflict.peekBoolean() == conflict, cycle)
            assert(dut.io.answer.overlap.peekBoolean() == overlap, cycle)
          }
          for ((name, on) <- Seq("known" -> known, "conflict" -> conflict, "overlap" -> overlap) if on) met(name) += 1
        }
      }
      def tick(): Unit = {
        dut.io.tick.poke(true)
        step()
        dut.io.tick.poke(false)
        now += 1
        dut.io.now.poke(now)
        for (_ <- 0 until 400) step()
      }
      dut.io.query.valid.poke(false)
      dut.io.tick.poke(false)
      dut.io.soon.poke(false)
      dut.io.now.poke(0)
      dut.io.timeout.poke(timeout)
      dut.reset.poke(true)
      step()
      dut.reset.poke(false)
      while (!dut.io.ready.peekBoolean()) step()

      for (_ <- 0 until 12) {
        // Near one another in time, and so often in a set or of a datagram.
        val near = dice.shuffle(keys).take(150)
        for (_ <- 0 until 400) {
          val key = near(if (dice.nextInt(3) == 0) dice.nextInt(4) else dice.nextInt(near.size))
          val (first, upper, units, offset) =
            (dice.nextBoolean(), dice.nextInt(2), 1 + dice.nextInt(3), 1 + dice.nextInt(4))
          dut.io.soon.poke(true)
          for (_ <- 0 until FragmentTable.ahead + dice.nextInt(4) * dice.nextInt(2) - 1) step()
          dut.io.query.valid.poke(true)
          dut.io.query.bits.key.poke(key)
          dut.io.query.bits.first.poke(first)
          dut.io.query.bits.upper.word.poke(upper)
          dut.io.query.bits.upperUnits.poke(units)
          dut.io.query.bits.offset.poke(offset)
          due(cycle + FragmentTable.latency) = model.ask(key, first, upper, units, offset, now)
          step()
          dut.io.query.valid.poke(false)
        }
        for (_ <- 0 until 10) step()
        dut.io.soon.poke(false)
        for (_ <- 0 until dice.nextInt(2 * timeout)) tick()
      }
      assert(Seq("known", "conflict", "overlap").forall(met(_) > 100), met)

      // Once all have gone, the table is at rest.
      assert(dut.io.busy.peekBoolean())
      for (_ <- 0 to timeout) tick()
      assert(!dut.io.busy.peekBoolean())
    }
  }
}
