// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.SadRow
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

class CuckooUpsetSpec extends AnyFunSuite with CompiledOnce {
  private val rows = 64
  private val rowsPerWay = rows / CuckooHash.ways
  private val keyBits = SadRow.version.msb + 1
  private val params = CuckooTableParams(rows, keyBits, SadRow.bits, SadRow.valid, SadRow.spi.width)

  private def place(key: BigInt, way: Int): Int = way * rowsPerWay + CuckooHash.row(way, key, keyBits, rowsPerWay)

  test("every flipped bit of a row spoils the look-ups that it could change, and no other") {
    simulate(new FlippedCuckooTable(params)) { table =>
      val driver = new TableDriver(table.io, table.clock, table.reset, CuckooTable.latency)
      val random = new Random(8)
      table.short.poke(false)
      table.flips.foreach(_.poke(0))
      driver.start()
      val keys = Seq.fill(CuckooHash.ways)(BigInt(keyBits, random))
      val stored = keys.zipWithIndex.map { case (key, way) => key | SadRow.valid.put(1) | SadRow.sa.put(100 + way) }
      val strange = BigInt(keyBits, random)
      for ((row, way) <- stored.zipWithIndex) driver.writeRow(place(keys(way), way), row)

      /** Row of a look-up that may be believed, or none; and whether it met a wrong row. */
      def found(key: BigInt): (Option[Option[BigInt]], Boolean) = {
        driver.step(Some(key))
        for (_ <- 1 until CuckooTable.latency) driver.step()
        val (upset, wrong) = (table.upset.peek().litToBoolean, table.rowUpset.peek().litToBoolean)
        val result = driver.step().get
        Option.unless(upset)(Option.when(result.hit)(result.row)) -> wrong
      }
      def right(wrong: Boolean): Unit = {
        for ((key, row) <- keys.zip(stored)) assert(found(key) == Some(Some(row)) -> wrong)
        if (!wrong) assert(found(strange) == Some(None) -> false)
      }

      right(wrong = false)
      for (way <- 0 until CuckooHash.ways; bit <- 0 to SadRow.bits) {
        table.flips(way).poke(BigInt(1) << bit)
        // Its own row, and that of a key that is in no way.
        assert(found(keys(way)) == None -> true, s"way $way, bit $bit")
        assert(found(strange) == None -> true, s"way $way, bit $bit")
        // A row of another way that holds the key is right whatever this one says.
        val other = (way + 1 + bit % 3) % CuckooHash.ways
        assert(found(keys(other)) == Some(Some(stored(other))) -> true, s"way $way, bit $bit")
        table.flips(way).poke(0)
      }
      right(wrong = false)

      // A row that is wrong matches by its flipped key: not the row of that key.
      table.flips(2).poke(1)
      assert(found(keys(2) ^ 1)._1.isEmpty)
      table.flips(2).poke(0)

      // Without traffic or while the table clears, nothing is wrong.
      table.flips.foreach(_.poke(1))
      for (_ <- 0 to CuckooTable.latency) driver.step()
      assert(!table.upset.peek().litToBoolean && !table.rowUpset.peek().litToBoolean)
      table.io.clear.poke(true.B)
      driver.step()
      table.io.clear.poke(false.B)
      assert(found(keys.head) == Some(None) -> false)
      table.flips.foreach(_.poke(0))
      driver.untilReady()
      for (key <- strange +: keys) assert(found(key) == Some(None) -> false)
    }
  }
}
