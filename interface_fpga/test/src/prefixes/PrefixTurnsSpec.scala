// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.{RowWrite, TablePort}

import scala.util.Random

/** Both users of the trees at once, whenever their packets come. */
class PrefixTurnsSpec extends AnyFunSuite with CompiledOnce {
  test("each user's answers come as late as always, two cycles apart or more") {
    simulate(new PrefixTurns(256)) { dut =>
      val random = new Random(282)
      val tables = dut.io.tables
      for (table <- Seq(tables.node, tables.child, tables.root)) table.request.valid.poke(false)
      dut.io.route.valid.poke(false)
      dut.io.policy.valid.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      while (!dut.io.ready.peek().litToBoolean) dut.clock.step()
      def write(table: TablePort, index: Int, row: BigInt): Unit = RowWrite(table, dut.clock, index, row)
      val routes = Seq.tabulate(60)(n => TestPrefix(n % 2 == 0, BigInt(n) << 58, 7, 1 + random.nextInt(255)))
      val policies = Seq.tabulate(60)(n => TestPrefix(n % 2 == 1, BigInt(n) << 58, 6, 1 + random.nextInt(16383)))
      val image = PrefixImage.rows(routes, policies = policies)
      for ((index, row) <- image.nodes) write(tables.node, index, row)
      for ((index, row) <- image.children) write(tables.child, index, row)
      for ((index, row) <- image.roots) write(tables.root, index, row)

      val cycles = 4000

      /** Queries by the cycle in which they come. */
      def traffic(): Map[Int, (Boolean, BigInt)] =
        Iterator.iterate(0)(_ + 2 + (if (random.nextInt(3) == 0) random.nextInt(4) else 0)).takeWhile(_ < cycles)
          .map(_ -> (random.nextBoolean(), BigInt(64, random))).toMap
      val (ofRoutes, ofPolicies) = (traffic(), traffic())
      def want(queries: Map[Int, (Boolean, BigInt)], of: Seq[TestPrefix], at: Int): Option[Int] =
        queries.get(at).map { case (v6, key) => PrefixImage.lookup(of, v6, key) }

      /** By cycle, whether the place comes early, and its row. */
      val places = for (cycle <- 0 until cycles + PrefixTurns.latency) yield {
        for ((port, queries) <- Seq(dut.io.route -> ofRoutes, dut.io.policy -> ofPolicies)) {
          val query = queries.get(cycle)
          port.valid.poke(query.isDefined)
          for ((v6, key) <- query) {
            port.bits.v6.poke(v6)
            port.bits.address.poke(key)
          }
        }
        val now = cycle - PrefixTurns.latency
        assert(dut.io.group.peek().litValue == want(ofRoutes, routes, now).getOrElse(0), s"route of cycle $now")
        assert(!dut.io.groupUpset.peek().litToBoolean && !dut.io.place.upset.peek().litToBoolean)
        val row = if (dut.io.place.live.peek().litToBoolean) dut.io.place.row.peek().litValue else BigInt(0)
        val place = dut.io.place.early.peek().litToBoolean -> row
        dut.clock.step()
        place
      }
      var early = 0
      for (at <- ofPolicies.keys) {
        val (isEarly, before) = places(at + PrefixTurns.latency - 1)
        val row = if (isEarly) before else places(at + PrefixTurns.latency)._2
        assert(want(ofPolicies, policies, at).contains(row.toInt), s"policy of cycle $at")
        if (isEarly) early += 1
      }
      val asked = ofPolicies.size
      assert(early > asked / 3 && early < asked * 2 / 3, s"$early of $asked come early")
    }
  }
}
