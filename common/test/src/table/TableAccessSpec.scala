// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

/** The clearing of a table whose `clear` comes again and again. */
class TableAccessSpec extends AnyFunSuite with CompiledOnce {
  private val rows = 12

  test("clears that come again: every row within one pass, and a whole pass after the last") {
    simulate(new TableAccess(rows, rowBits = 8, clearRows = rows, writeOnly = true, readLatency = 1)) { dut =>
      var now = 0
      var written = Seq.empty[(Int, Int)]
      def step(clear: Boolean = false): Unit = {
        dut.io.clear.poke(clear)
        if (dut.io.clearing.peek().litToBoolean) {
          dut.io.memory.valid.expect(true)
          dut.io.memory.bits.row.expect(0)
          written :+= now -> dut.io.memory.bits.index.peek().litValue.toInt
        }
        dut.clock.step()
        now += 1
      }
      def ready = dut.io.ready.peek().litToBoolean
      def untilReady(): Unit = {
        val start = now
        while (!ready) { step(); assert(now - start < 4 * rows, "clears for ever") }
      }

      dut.io.table.request.valid.poke(false)
      dut.io.memory.ready.poke(true)
      dut.io.data.poke(0)
      dut.io.clear.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      untilReady()
      assert(written.map(_._2) == (0 until rows))

      // Once, in every cycle, in every n-th one.
      for (period <- 1 to 2 * rows) {
        written = Nil
        val start = now
        for (i <- 0 until 6 * rows) step(clear = i % period == 0)
        val last = start + (6 * rows - 1) / period * period
        untilReady()
        def rowsIn(from: Int, until: Int) =
          written.collect { case (at, row) if at > from && at <= until => row }.toSet
        assert(rowsIn(start, start + rows) == (0 until rows).toSet, s"period $period: the first pass")
        assert(rowsIn(last, now).size == rows, s"period $period: the pass after the last clear")
        assert(written.map(_._2).grouped(rows).forall(_ == (0 until rows)), s"period $period: passes are whole")
        assert(now - last <= 2 * rows + 1, s"period $period")
      }
    }
  }
}
