// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Action, RuleRow}
import sallyport.common.simulation.{CompiledOnce, LongForm}

import scala.util.Random

class TernaryUpsetSpec extends AnyFunSuite with CompiledOnce {
  private val keyBits = RuleRow.network.msb + 1
  private val maskLsb = RuleRow.srcMask.lsb
  private val all = (BigInt(1) << keyBits) - 1
  private val resultBits = maskLsb - keyBits

  for (rows <- Seq(32, 128)) {
    val params = TernaryTableParams(rows, keyBits, maskLsb, RuleRow.valid)

    /** Keys of rows 3 to `rows` - 10 (with gaps), a row of every key behind them, and the rows. */
    class Bench(table: FlippedTernaryTable) {
      val driver = new TableDriver(table.io, table.clock, table.reset, params.latency)
      private val random = new Random(rows)
      val last = rows - 9
      val indices: Seq[Int] = (3 until last by 5).toSeq
      val keys: Map[Int, BigInt] = indices.map(_ -> BigInt(keyBits, random)).toMap
      def row(index: Int): BigInt = keys.get(index).fold(BigInt(0))(_ | all << maskLsb) | RuleRow.valid.put(1) |
        RuleRow.action.put(if (index == last) Action.bypass else Action.protect) | RuleRow.sa.put(index)

      def start(): Unit = {
        table.flips.plant.poke(false)
        table.flips.valid.poke(0)
        table.flips.copy.poke(0)
        table.flips.result.poke(0)
        driver.start()
        for (index <- indices :+ last) assert(!driver.writeRow(index, row(index)).error)
      }

      def plant(chunk: Int, key: BigInt, group: Int, bit: Int): Unit = {
        table.flips.plant.poke(true)
        table.flips.chunk.poke(chunk)
        table.flips.address.poke((key >> (chunk * RuleMatch.chunkBits)) & ((1 << RuleMatch.chunkBits) - 1))
        table.flips.group.poke(group)
        table.flips.bits.poke(1 << bit)
        driver.step()
        table.flips.plant.poke(false)
      }

      /** The row that answers, unless it may be wrong. */
      def found(key: BigInt): Option[BigInt] = {
        driver.step(Some(key))
        for (_ <- 1 until params.latency) driver.step()
        val upset = table.upset.peek().litToBoolean
        val result = driver.step().get
        assert(upset || result.hit, "the last row has every key")
        Option.unless(upset)(RuleRow.sa(result.row))
      }
      def right(): Unit = for (index <- indices) assert(found(keys(index)).contains(index))
    }

    test(s"$rows rules: a flipped bit of a match memory spoils look-ups until the table has mended it") {
      if (rows > 32) LongForm.only()
      simulateShared(params)(new FlippedTernaryTable(params)) { table =>
        val bench = new Bench(table)
        import bench._
        start()
        right()
        var upsets, expected = 0
        for (chunk <- 0 until RuleMatch.chunks(params); group <- 0 until rows / 8 by rows / 32; bit <- 0 to 8) {
          val index = indices((chunk + bit) % indices.size)
          val hasRules = group <= last / 8
          // The group of the answer, or one before it, could have answered.
          val counts = hasRules && group <= index / 8
          def flipped(): Option[BigInt] = {
            plant(chunk, keys(index), group, bit)
            found(keys(index))
          }
          // While the table mends what came before, it may write the word just before the look-up.
          val first = flipped()
          val answer = if (counts && first.nonEmpty) flipped() else first
          if (counts) expected += 1
          if (answer.isEmpty) upsets += 1
          else assert(answer.contains(index), s"chunk $chunk, group $group, bit $bit")
          if (!hasRules || group / 2 > index / 16) assert(answer.nonEmpty, s"chunk $chunk, group $group, bit $bit")
        }
        info(s"$upsets look-ups were spoilt of $expected that could have been wrong")
        assert(upsets == expected)

        for (bit <- 0 to 8) {
          for (_ <- 0 until 400) driver.step()
          right()
          plant(7, keys(3), 0, bit)
          assert(found(keys(3)).isEmpty, s"bit $bit")
        }
      }
    }

    test(s"$rows rules: a flipped bit of a result spoils it until its row is written") {
      if (rows > 32) LongForm.only()
      simulateShared(params)(new FlippedTernaryTable(params)) { table =>
        val bench = new Bench(table)
        import bench._
        start()
        for (bit <- 0 to resultBits) {
          table.flips.result.poke(BigInt(1) << bit)
          assert(found(keys(3)).isEmpty, s"bit $bit")
        }
        table.flips.result.poke(0)
        right()
      }
    }

    test(s"$rows rules: a flipped valid bit changes no answer, and the table has it right again") {
      if (rows > 32) LongForm.only()
      simulateShared(params)(new FlippedTernaryTable(params)) { table =>
        val bench = new Bench(table)
        import bench._
        start()
        // Of rows that are valid, of others in their groups, and in a group without any.
        for (row <- (0 until rows) :+ 3) {
          // The clock of the table runs while software reads; the flip comes in the first cycle.
          driver.request(write = false, 3)
          table.flips.valid.poke(BigInt(1) << row)
          driver.step()
          table.flips.valid.poke(0)
          driver.finish()()
          for (index <- Seq(indices.head, indices.last, indices((row / 5) min (indices.size - 1)))) {
            val answer = found(keys(index))
            assert(answer.forall(_ == index), s"row $row")
            if (row / 8 <= index / 8) assert(answer.isEmpty, s"row $row, answer of row $index")
          }
          // Software changes another row of the group meanwhile, or the row itself.
          if (row % 3 == 0 && indices.contains(row ^ 1)) driver.writeRow(row ^ 1, bench.row(row ^ 1))
          if (row % 3 == 1 && indices.contains(row)) driver.writeRow(row, bench.row(row))
          found(keys(3))
          for (_ <- 0 until 400) driver.step()
          right()
        }
        // A row stays away that software takes away, and none is left of its bit.
        driver.writeRow(indices.head, 0)
        assert(found(keys(indices.head)).contains(last))
      }
    }

    test(s"$rows rules: a flipped bit of software's copy reaches no match memory") {
      if (rows > 32) LongForm.only()
      simulateShared(params)(new FlippedTernaryTable(params)) { table =>
        val bench = new Bench(table)
        import bench._
        start()
        // A write of row 4 brings the copy of row 3 into the match memories.
        for (bit <- Seq(0, 150, keyBits - 1, RuleRow.valid.lsb, maskLsb, maskLsb + 200, params.rowBits - 1)) {
          table.flips.copy.poke(BigInt(1) << bit)
          assert(!driver.writeRow(4, BigInt(bit) | all << maskLsb | RuleRow.valid.put(1)).error)
          assert(found(keys(3)).isEmpty, s"bit $bit")
          for (key <- Seq(keys(3).flipBit(bit % keyBits), BigInt(0))) assert(found(key).isEmpty, s"bit $bit")
          table.flips.copy.poke(0)
          // A look-up has the columns written anew.
          assert(found(keys(3)).isEmpty, s"bit $bit")
          for (_ <- 0 until 400) driver.step()
          right()
        }
        // A copy with a flipped bit that is as the row that software writes.
        val changed = keys(3).flipBit(40)
        table.flips.copy.poke(BigInt(1) << 40)
        driver.writeRow(3, changed | all << maskLsb | RuleRow.valid.put(1) | RuleRow.sa.put(55))
        table.flips.copy.poke(0)
        for (_ <- 0 until 400) driver.step()
        found(changed)
        for (_ <- 0 until 400) driver.step()
        assert(found(changed).contains(55) && found(keys(3)).contains(last))
      }
    }
  }
}
