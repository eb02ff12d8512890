// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.HopGroupRow
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.RowWrite

/** Equal parts of the flows for the next hops of a group. */
class HopGroupsSpec extends AnyFunSuite with CompiledOnce {
  test("every hash has its next hop, in equal parts; a row that is not valid is an upset") {
    simulate(new HopGroups) { dut =>
      dut.io.group.poke(0)
      dut.io.table.request.valid.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      while (!dut.io.ready.peek().litToBoolean) dut.clock.step()
      def write(index: Int, row: BigInt): Unit = RowWrite(dut.io.table, dut.clock, index, row)

      /** Hit, connected and next hop; nothing for an upset. */
      def ask(group: Int, hash: Int): Option[(Boolean, Boolean, Int)] = {
        dut.io.group.poke(group)
        dut.io.hash.poke(hash)
        dut.clock.step()
        dut.io.group.poke(0)
        dut.io.hash.poke(255 - hash)
        dut.clock.step(HopGroups.latency - 1)
        val route = dut.io.route
        Option.unless(dut.io.upset.peek().litToBoolean)(
          (route.hit.peek().litToBoolean, route.connected.peek().litToBoolean, route.hop.peek().litValue.toInt)
        )
      }
      val hops = Seq(200, 7, 31, 255)
      val fields = Seq(HopGroupRow.hop0, HopGroupRow.hop1, HopGroupRow.hop2, HopGroupRow.hop3)
      for (number <- 1 to 4) {
        val row = fields.zip(hops.take(number)).map { case (field, hop) => field.put(hop) }.reduce(_ | _)
        write(number, row | HopGroupRow.last.put(number - 1) | HopGroupRow.valid.put(1))
        val chosen = (0 until 256).map { hash =>
          val Some((hit, connected, hop)) = ask(number, hash): @unchecked
          assert(hit && !connected)
          hop
        }
        for (hop <- hops.take(number)) {
          val part = chosen.count(_ == hop)
          assert(part == 256 / number || part == 256 / number + 1, s"$hop of $number")
        }
        assert(chosen.toSet == hops.take(number).toSet)
      }
      write(9, HopGroupRow.connected.put(1) | HopGroupRow.valid.put(1))
      assert(ask(9, 0).exists { case (hit, connected, _) => hit && connected })
      assert(ask(0, 0).exists(!_._1))
      assert(ask(10, 0).isEmpty)
    }
  }

  test("flows of neighbouring hosts spread over the hashes") {
    val label = BigInt(0)
    def hash(source: BigInt, destination: BigInt): Int =
      HopGroups.hash(label << 256 | source << 128 | destination, 276)
    val flows = for (s <- 0 until 64; d <- 0 until 64) yield hash(0x0a000000L + s, 0x0a010000L + d)
    for (part <- flows.groupBy(_ / 64).values) assert((part.length - 1024).abs < 100)
    val pairs = (0 until 1024).map(n => hash(0x0a000000L + n, 0x0a010000L + n))
    for (part <- pairs.groupBy(_ / 64).values) assert((part.length - 256).abs < 64)
    assert(pairs.groupBy(_ / 64).size == 4)
  }
}
