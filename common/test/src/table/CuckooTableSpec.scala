// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.SadRow
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

class CuckooTableSpec extends AnyFunSuite with CompiledOnce {
  private val rows = 64
  private val rowsPerWay = rows / CuckooHash.ways
  private val keyBits = 72
  private val params = CuckooTableParams(rows, keyBits, SadRow.bits, SadRow.valid, SadRow.spi.width)

  private def rowOf(key: BigInt, sa: Int): BigInt = key | SadRow.valid.put(1) | SadRow.sa.put(sa)
  private def place(key: BigInt, way: Int): Int = way * rowsPerWay + CuckooHash.row(way, key, keyBits, rowsPerWay)

  test("insertions by moving, under traffic, lose no lookup") {
    simulate(new CuckooTable(params)) { table =>
      val driver = new TableDriver(table.io, table.clock, table.reset, CuckooTable.latency)
      val random = new Random(5)
      assert(driver.start() == rowsPerWay, "the ways are cleared side by side")

      val placed = mutable.Map.empty[Int, BigInt] // by table index
      val values = mutable.Map.empty[BigInt, Int]
      val keys = mutable.ArrayBuffer.empty[BigInt] // installed before every lookup in flight
      var lookups, hits = 0
      def traffic(): Option[BigInt] =
        Some(if (keys.nonEmpty && random.nextInt(4) != 0) keys(random.nextInt(keys.length))
        else BigInt(keyBits, random))
      def check(result: driver.Result): Unit = {
        lookups += 1
        if (result.hit) {
          hits += 1
          assert(result.row == rowOf(result.key, values(result.key)))
        } else assert(!keys.contains(result.key), s"lost a lookup with ${keys.length} keys")
      }
      def write(index: Int, row: BigInt): Unit = {
        driver.request(write = true, index, row)
        assert(!driver.finish(() => traffic())(check).error)
      }

      /**
       * Places a key, moving others out of its way first; the new place is written before the old
       * one is reused.
       */
      def insert(key: BigInt, depth: Int): Boolean = {
        val places = (0 until CuckooHash.ways).map(place(key, _))
        places.find(!placed.contains(_)).orElse(random.shuffle(places).find(p =>
          depth > 0 && move(p, depth - 1)
        )) match {
          case Some(index) =>
            write(index, rowOf(key, values(key)))
            placed(index) = key
            true
          case None => false
        }
      }
      def move(index: Int, depth: Int): Boolean = {
        val key = placed(index)
        val others = (0 until CuckooHash.ways).map(place(key, _)).filterNot(_ == index)
        others.find(!placed.contains(_)).orElse(others.find(p =>
          depth > 0 && placed.get(p).exists(_ => move(p, depth - 1))
        )) match {
          case Some(other) =>
            write(other, rowOf(key, values(key)))
            placed(other) = key
            write(index, 0)
            placed.remove(index)
            true
          case None => false
        }
      }

      var full = false
      while (!full && keys.length < rows) {
        val key = BigInt(keyBits, random)
        values(key) = random.nextInt(1 << 16)
        full = !insert(key, 3)
        if (!full) {
          keys += key
          for (_ <- 0 until CuckooTable.latency) driver.step(traffic()).foreach(check)
        }
      }
      info(s"${keys.length} of $rows rows filled, $hits hits in $lookups lookups")
      assert(keys.length > rows * 8 / 10)
      for (_ <- 0 until CuckooTable.latency) driver.step().foreach(check)
      for (r <- driver.lookup(keys.toSeq)) assert(r.hit && r.row == rowOf(r.key, values(r.key)))

      // Every row reads back; deleting makes the key unknown.
      for (index <- 0 until rows) {
        val stored = placed.get(index).map(key => rowOf(key, values(key))).getOrElse(BigInt(0))
        assert(driver.readRow(index) == driver.Response(error = false, stored), s"row $index")
      }
      assert(driver.readRow(rows).error && driver.writeRow(rows, 1).error)
      val (gone, staying) = placed.toSeq.splitAt(10)
      gone.foreach { case (index, _) => driver.writeRow(index, 0) }
      assert(driver.lookup(gone.map(_._2)).forall(!_.hit))
      assert(driver.lookup(staying.map(_._2)).forall(_.hit))

      table.io.clear.poke(true.B)
      driver.step()
      table.io.clear.poke(false.B)
      assert(driver.lookup(staying.map(_._2)).forall(!_.hit), "no hits while clearing")
      driver.untilReady()
      assert(driver.lookup(staying.map(_._2)).forall(!_.hit), "no hits after clearing")

      // A key in two ways: the lower one answers.
      val key = BigInt(keyBits, random)
      driver.writeRow(place(key, 3), rowOf(key, 3))
      driver.writeRow(place(key, 1), rowOf(key, 1))
      assert(driver.lookup(Seq(key)).head.row == rowOf(key, 1))
      // A row of another key at the place is no hit, nor is an invalid row of the same key.
      driver.writeRow(place(key, 1), rowOf(key ^ 1, 1))
      driver.writeRow(place(key, 3), rowOf(key, 3) & ~SadRow.valid.put(1))
      assert(!driver.lookup(Seq(key)).head.hit)
    }
  }

  test("with a short key a row is found by it alone, and whole says of the rest of the key") {
    simulate(new CuckooTable(params)) { table =>
      val driver = new TableDriver(table.io, table.clock, table.reset, CuckooTable.latency)
      driver.start()
      val random = new Random(6)
      val low = BigInt(SadRow.spi.width, random)
      val key = low | BigInt(keyBits - SadRow.spi.width, random) << SadRow.spi.width
      val other = key ^ (BigInt(1) << keyBits - 1)
      assert(place(low, 2) != place(key, 2))
      driver.writeRow(place(low, 2), rowOf(key, 7))
      driver.writeRow(place(key, 1), rowOf(key, 9))

      /** SA of each key, and whether all of the key is the row's, as far as there is an SA. */
      def found(short: Boolean, keys: BigInt*): Seq[(Option[BigInt], Boolean)] = {
        table.short.poke(short)
        keys.map { key =>
          driver.step(Some(key))
          for (_ <- 1 until CuckooTable.latency) driver.step()
          val whole = table.whole.peek().litToBoolean
          val result = driver.step().get
          Option.when(result.hit)(SadRow.sa(result.row)) -> (result.hit && whole)
        }
      }
      val none = Option.empty[BigInt] -> false
      assert(found(short = true, key, other, low, key ^ 1) == Seq(
        Some(7) -> true,
        Some(7) -> false,
        Some(7) -> false,
        none
      ))
      assert(found(short = false, key, other, key ^ 1) == Seq(Some(9) -> true, none, none))
    }
  }
}
