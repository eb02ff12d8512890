// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.memory.Secded
import sallyport.common.registers.map.RowField
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

class DirectTableSpec extends AnyFunSuite with CompiledOnce {
  private val rows = 16
  private val valid = RowField(8, 1)
  private val rowBits = 70

  private def withTable(writeOnly: Boolean, gaps: Seq[RowField] = Nil)(body: (DirectTable, TableDriver) => Unit): Unit =
    withTable(new DirectTable(DirectTableParams(rows, rowBits, valid, writeOnly, gaps)))(body)

  private def withTable[T <: DirectTable](make: => T)(body: (T, TableDriver) => Unit): Unit =
    simulate(make)(table => body(table, new TableDriver(table.io, table.clock, table.reset, table.latency)))

  private def row(random: Random): BigInt = BigInt(rowBits, random) | valid.put(1)

  test("rows, lookups, updates under traffic, clearing") {
    withTable(writeOnly = false) { (table, driver) =>
      val random = new Random(3)
      assert(driver.start() == rows)
      assert(driver.lookup((0 until rows).map(BigInt(_))).forall(!_.hit), "cleared after reset")

      val model = Array.fill(rows)(row(random))
      for (n <- 0 until rows) assert(!driver.writeRow(n, model(n)).error)
      for (n <- 0 until rows) assert(driver.readRow(n) == driver.Response(error = false, model(n)))
      for (n <- Seq(rows, rows + 3, 1 << 20, (1 << 24) - 1)) {
        assert(driver.readRow(n) == driver.Response(error = true, 0))
        assert(driver.writeRow(n, 1).error)
      }
      for (r <- driver.lookup(Seq.fill(100)(BigInt(random.nextInt(rows))))) {
        assert(r.hit && r.row == model(r.key.toInt))
      }
      driver.writeRow(3, model(3) & ~valid.put(1))
      assert(driver.lookup(Seq(3, 4)).map(_.hit) == Seq(false, true))
      driver.writeRow(3, model(3))

      underTraffic(table, driver, model, random)
      clearing(table, driver, model)
    }
  }

  /**
   * A lookup before the pulse of `written` sees the old row; with the pulse or later, the
   * new one.
   */
  private def underTraffic(table: DirectTable, driver: TableDriver, model: Array[BigInt], random: Random): Unit = {
    val expected = scala.collection.mutable.Queue.empty[BigInt]
    def check(result: driver.Result): Unit = assert(result.hit && result.row == expected.dequeue())
    for (period <- Seq(2, 3, 1); _ <- 0 until 60) {
      val index = random.nextInt(rows)
      val fresh = row(random)
      // Half of the traffic asks for the very row that changes; at full rate one cycle in eight is
      // left to the writer.
      driver.request(write = true, index, fresh)
      var cycle = 0
      var writes = 0
      def traffic(): Option[BigInt] = {
        if (table.written.valid.peek().litToBoolean) {
          table.written.bits.expect(index.U)
          writes += 1
          model(index) = fresh
        }
        cycle += 1
        val key = if (random.nextBoolean() && cycle % 8 != 0) index else random.nextInt(rows)
        Option.when(cycle % period == 0) {
          expected.enqueue(model(key))
          BigInt(key)
        }
      }
      assert(!driver.finish(() => traffic())(check).error)
      assert(writes == 1)
    }
    for (_ <- 0 until table.latency) driver.step().foreach(check)
    assert(expected.isEmpty)
  }

  private def clearing(table: DirectTable, driver: TableDriver, model: Array[BigInt]): Unit = {
    // The clear comes in each cycle of a write: no part of the written row may survive.
    for (delay <- 0 to 4) {
      for (n <- 0 until rows) driver.writeRow(n, model(n))
      driver.request(write = true, 5, model(7))
      for (_ <- 0 until delay) driver.step()
      table.io.clear.poke(true.B)
      val during = driver.step(Some(5))
      table.io.clear.poke(false.B)
      assert(during.isEmpty)
      table.io.ready.expect(false.B)
      driver.finish()()
      driver.untilReady()
      val found = driver.lookup((0 until rows).map(BigInt(_))).filter(_.hit)
      assert(found.forall(_.key == 5), s"delay $delay")
      if (delay > 0) assert(found.isEmpty, s"delay $delay: a row from before the clear")
    }
  }

  test("rows of keys cannot be read") {
    withTable(writeOnly = true) { (_, driver) =>
      val random = new Random(4)
      driver.start()
      val key = row(random)
      assert(driver.writeRow(9, key) == driver.Response(error = false, 0))
      assert(driver.readRow(9) == driver.Response(error = true, 0))
      assert(driver.lookup(Seq(9)).head.row == key)
    }
  }

  test("a coded row that comes before, during or after an erasure has its own check bits") {
    withTable(new DirectTable(DirectTableParams(
      rows,
      rowBits,
      valid,
      writeOnly = true,
      code = Some(Secded(rowBits))
    ))) {
      (table, driver) =>
        val random = new Random(5)
        driver.start()
        def checkOf(row: Int): Option[(BigInt, BigInt)] = {
          driver.step(Some(row))
          for (_ <- 1 until table.latency) driver.step()
          val check = table.check.get.peek().litValue
          driver.step().filter(_.hit).map(_.row -> check)
        }
        for (delay <- 0 to rows + 6) {
          val key = row(random)
          driver.writeRow(5, key)
          val quiet = checkOf(5).get
          driver.writeRow(9, row(random))
          // The clear is in cycle 3, the request comes `delay` cycles after the first.
          for (cycle <- 0 to rows + 9) {
            table.io.clear.poke((cycle == 3).B)
            if (cycle == delay) driver.request(write = true, 6, key)
            driver.step()
          }
          driver.finish()()
          driver.untilReady()
          val found = checkOf(6)
          assert(found.forall(_ == quiet), s"a request in cycle $delay has the check bits of another row")
          if (delay > 3) assert(found.isDefined, s"a request in cycle $delay, after the clear, is lost")
        }
    }
  }

  for (gaps <- Seq(Nil, Seq(RowField(2, 5), RowField(40, 9))))
    test(s"any flipped bit of a row is an upset and no hit, until it is written, with ${gaps.size} gaps") {
      withTable(new WornDirectTable(DirectTableParams(rows, rowBits, valid, gaps = gaps))) { (table, driver) =>
        val random = new Random(6)
        driver.start()
        def upset(row: Int): Boolean = {
          driver.step(Some(row))
          for (_ <- 1 until table.latency) driver.step()
          val upset = table.upset.peek().litToBoolean
          assert(driver.step().get.hit != upset)
          upset
        }
        val lost = gaps.flatMap(gap => gap.lsb to gap.msb).toSet
        for (bit <- 0 to rowBits if !lost(bit)) {
          driver.writeRow(3, row(random))
          assert(!upset(3), "a whole row")
          table.flips.poke((BigInt(1) << bit).U)
          driver.writeRow(3, row(random))
          table.flips.poke(0.U)
          assert(upset(3), s"bit $bit")
        }
        driver.writeRow(3, row(random))
        assert(!upset(3), "a row that was written anew")
        for (delay <- 0 to rows + 6) {
          for (cycle <- 0 to rows + 9) {
            table.io.clear.poke((cycle == 3).B)
            if (cycle == delay) driver.request(write = true, 6, row(random))
            driver.step()
          }
          driver.finish()()
          driver.untilReady()
          driver.step(Some(6))
          for (_ <- 1 until table.latency) driver.step()
          table.upset.expect(false.B, s"a request in cycle $delay beside an erasure")
          driver.step()
        }
      }
    }

  test("bits that are in no field are not kept") {
    val gaps = Seq(RowField(0, 3), RowField(9, 20), RowField(30, 1), RowField(68, 2))
    withTable(writeOnly = true, gaps) { (_, driver) =>
      driver.start()
      driver.writeRow(5, (BigInt(1) << rowBits) - 1)
      val lost = gaps.map(gap => gap.put((BigInt(1) << gap.width) - 1)).reduce(_ | _)
      assert(driver.lookup(Seq(5)).head.row == ((BigInt(1) << rowBits) - 1 - lost))
    }
  }

  test("refuses what cannot be built") {
    assert(intercept[IllegalArgumentException](DirectTableParams(
      100,
      8,
      RowField(7, 1)
    )).getMessage.contains("choose 128"))
    assert(intercept[IllegalArgumentException](DirectTableParams(
      64,
      8,
      RowField(8, 1)
    )).getMessage.contains("valid bit"))
  }
}

/** Bits of `flips` flip in each row that software writes; bit `rowBits` is the parity. */
private class WornDirectTable(p: DirectTableParams) extends DirectTable(p) {
  lazy val flips = IO(Input(UInt((p.rowBits + 1).W)))
  override protected def stored(index: UInt, word: UInt): UInt = word ^ flips
}
