// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

/** `every` shows in no simulation of firtool's memories, which keep no row: EraseSpec has it. */
class RowMemorySpec extends AnyFunSuite with CompiledOnce {

  private val rows = 16
  private val bits = 9

  /** What a port answers with in `latency` cycles, or nothing is known of it. */
  private class Answers(latency: Int) {
    private val queue = mutable.Queue.fill(latency)(Option.empty[Set[BigInt]])
    def step(next: Option[Set[BigInt]]): Option[Set[BigInt]] = {
      queue.enqueue(next)
      queue.dequeue()
    }
  }

  /** A request on both ports in every cycle, of rows that meet often, against an array. */
  private def check(pipe: MemoryPipe, readsBack: Boolean): Unit =
    simulate(new RowMemory(rows, bits, pipe, readsBack)) { dut =>
      val random = new Random(29)
      val array = mutable.Map[Int, BigInt]()
      val (read, back) = (new Answers(pipe.latency), new Answers(pipe.latency))
      var (reads, backs, meetings) = (0, 0, 0)
      for (cycle <- 0 until 3000) {
        val (row, other) = (random.nextInt(rows), random.nextInt(rows))
        val (asks, accesses) = (random.nextInt(4) > 0, random.nextInt(4) > 0)
        val writes = !readsBack || cycle < 200 || random.nextBoolean()
        val data = BigInt(bits, random)
        dut.io.read.valid.poke(asks)
        dut.io.read.bits.poke(row)
        dut.io.access.valid.poke(accesses)
        dut.io.access.bits.write.poke(writes)
        dut.io.access.bits.index.poke(other)
        dut.io.access.bits.data.poke(data)
        val meets = accesses && writes && row == other
        val known = array.get(row).map(old => if (meets) Set(old, data) else Set(old))
        val expected = read.step(known.filter(_ => asks))
        val expectedBack = back.step(array.get(other).map(Set(_)).filter(_ => accesses && !writes))
        for (values <- expected) {
          assert(values(dut.io.row.peek().litValue), s"row of cycle $cycle")
          if (values.size > 1) meetings += 1 else reads += 1
        }
        for (values <- expectedBack) {
          assert(values(dut.io.answer.peek().litValue), s"answer of cycle $cycle")
          backs += 1
        }
        if (accesses && writes) array(other) = data
        dut.clock.step()
      }
      assert(reads > 1500 && meetings > 50 && (backs > 700 || !readsBack), s"$reads $meetings $backs")
    }

  for (
    (name, pipe) <- Seq(
      "one column" -> MemoryPipe.column,
      "a column with three registers" -> MemoryPipe(3),
      "a bank that is not full" -> MemoryPipe.banks,
      "two banks" -> MemoryPipe(1, Some(8)),
      "four banks with two registers" -> MemoryPipe(2, Some(4)),
      "eight banks with three registers" -> MemoryPipe(3, Some(2))
    );
    readsBack <- Seq(false, true)
  )
    test(s"$name${if (readsBack) ", read back" else ""}: rows as they were written, in ${pipe.latency} cycles") {
      check(pipe, readsBack)
    }

  test("a memory that is no whole number of banks, or a column without a register, is refused") {
    assert(intercept[IllegalArgumentException](MemoryPipe(0)).getMessage.contains("a register at its output"))
    assert(intercept[IllegalArgumentException](MemoryPipe(1, Some(6))).getMessage.contains("no bank has"))
  }
}
