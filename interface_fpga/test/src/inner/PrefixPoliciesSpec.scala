// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util.Valid
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Action, PrefixPolicyRow}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.{RowWrite, TablePort}
import sallyport.iface.prefixes.{PrefixImage, PrefixKey, PrefixTurns, TestPrefix}

import scala.util.Random

/** [[PrefixPolicies]] behind its trees. */
private class PoliciesHarness(rows: Int) extends Module {
  private val turns = Module(new PrefixTurns(256))
  private val policies = Module(new PrefixPolicies(rows))
  val io = IO(new Bundle {
    val packet = Input(Bool())
    val destination = Flipped(Valid(new PrefixKey))
    val source = Input(new PrefixKey)
    val answer = Output(new SpdAnswer)
    val upset = Output(Bool())
    val trees = chiselTypeOf(turns.io.tables)
    val table = Flipped(new TablePort)
    val ready = Output(Bool())
  })
  turns.io.tables <> io.trees
  turns.io.route.valid := false.B
  turns.io.route.bits := DontCare
  turns.io.policy := io.destination
  policies.io.packet := io.packet
  policies.io.place := turns.io.place
  policies.io.source := io.source
  policies.io.table <> io.table
  io.answer := policies.io.answer
  io.upset := policies.io.upset
  io.ready := turns.io.ready && policies.io.ready
}

/** An SPD entry: a policy by prefixes, and the row that counts where it does not. */
private case class Entry(source: TestPrefix, sa: Int, priority: BigInt, next: Int = 0) {
  val row: BigInt = PrefixPolicyRow.valid.put(1) | PrefixPolicyRow.action.put(Action.protect) |
    PrefixPolicyRow.sa.put(sa) | PrefixPolicyRow.priority.put(priority) | PrefixPolicyRow.next.put(next) |
    PrefixPolicyRow.srcPrefix.put(source.first) | PrefixPolicyRow.srcLength.put(source.length)
}

class PrefixPoliciesSpec extends AnyFunSuite with CompiledOnce {
  private val rows = 128
  private val keys = BigInt(1) << 64

  private class Bench(dut: PoliciesHarness) {
    private val trees = dut.io.trees
    def start(): Unit = {
      for (table <- Seq(trees.node, trees.child, trees.root, dut.io.table)) table.request.valid.poke(false)
      dut.io.packet.poke(false)
      dut.io.destination.valid.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      while (!dut.io.ready.peek().litToBoolean) dut.clock.step()
    }
    def write(table: TablePort, index: Int, row: BigInt): Unit = RowWrite(table, dut.clock, index, row)
    def load(policies: Seq[TestPrefix]): Unit = {
      val image = PrefixImage.rows(Nil, policies = policies)
      for ((index, row) <- image.nodes) write(trees.node, index, row)
      for ((index, row) <- image.children) write(trees.child, index, row)
      for ((index, row) <- image.roots) write(trees.root, index, row)
    }

    /**
     * SA and priority for each packet, of its own source and of that of the return traffic; `None`
     * without a policy, and nothing of an upset.
     *
     * @param packets by the cycle in which they come: destination, if it is asked, and sources
     */
    def ask(packets: Map[Int, Asked]): Map[Int, (Found, Found)] = {
      val behind = PrefixPolicies.sourceTime + PrefixPolicies.matchLatency
      def peeked(): Found =
        if (dut.io.upset.peek().litToBoolean) Upset
        else if (!dut.io.answer.hit.peek().litToBoolean) Nothing
        else To(dut.io.answer.sa.peek().litValue.toInt, dut.io.answer.priority.peek().litValue)
      var before: Found = Nothing
      (0 to packets.keys.max + behind).flatMap { cycle =>
        val asked = packets.get(cycle)
        dut.io.packet.poke(asked.isDefined)
        dut.io.destination.valid.poke(asked.exists(_.destination.isDefined))
        for (Asked(v6, Some(to), _, _) <- asked) {
          dut.io.destination.bits.v6.poke(v6)
          dut.io.destination.bits.address.poke(to)
        }
        for (Asked(_, _, from, _) <- packets.get(cycle - PrefixPolicies.sourceTime)) dut.io.source.address.poke(from)
        for (Asked(_, _, _, back) <- packets.get(cycle - PrefixPolicies.sourceTime + 1))
          dut.io.source.address.poke(back)
        val now = peeked()
        val result = packets.get(cycle - behind).map(_ => (cycle - behind) -> (now, before))
        before = now
        dut.clock.step()
        result
      }.toMap
    }
  }
  private case class Asked(v6: Boolean, destination: Option[BigInt], source: BigInt, returning: BigInt)
  private sealed trait Found
  private case object Upset extends Found
  private case object Nothing extends Found
  private case class To(sa: Int, priority: BigInt) extends Found

  test("the first of two entries of a destination that has the packet's source") {
    simulate(new PoliciesHarness(rows)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      val random = new Random(4301)
      val places = Seq.tabulate(60)(n => TestPrefix(n % 2 == 0, BigInt(n * 9 / 8) << 57, 7, 1 + n))
      def source(): TestPrefix =
        TestPrefix(v6 = false, BigInt(4, random) << 60 | BigInt(40, random), random.nextInt(65), 0)
      val entries = places.map { place =>
        val second = if (random.nextBoolean()) 61 + place.group else 0
        place.group -> Entry(source(), random.nextInt(65536), BigInt(32, random), second)
      }.toMap
      val seconds = entries.values.filter(_.next > 0)
        .map(entry => entry.next -> Entry(source(), random.nextInt(65536), BigInt(32, random), next = 1)).toMap
      for ((index, entry) <- entries ++ seconds) bench.write(dut.io.table, index, entry.row)
      bench.load(places)

      def found(place: Int, source: BigInt): Found = {
        val first = entries.get(place)
        val both = first.toSeq ++ first.flatMap(entry => seconds.get(entry.next))
        both.find(_.source.holds(v6 = false, source)).fold[Found](Nothing)(entry => To(entry.sa, entry.priority))
      }
      def near(place: Option[Int]): BigInt = {
        val prefixes = (entries ++ seconds).values.map(_.source).toSeq
        val of = place.flatMap(entries.get).fold(prefixes(random.nextInt(prefixes.length)))(_.source)
        Seq(of.first, of.first - 1, of.end - 1, of.end, BigInt(64, random))(random.nextInt(5)).max(0).min(keys - 1)
      }
      val packets =
        Iterator.iterate(0)(_ + 2 + (if (random.nextInt(3) == 0) random.nextInt(9) else 0)).take(3000).map { cycle =>
          val place = Option.when(random.nextInt(4) > 0)(places(random.nextInt(places.length)))
          val to = place.fold(BigInt(64, random))(_.first + BigInt(40, random))
          val v6 = place.fold(random.nextBoolean())(_.v6)
          val asks = Option.when(random.nextInt(10) > 0)(to)
          cycle -> Asked(v6, asks, near(place.map(_.group)), near(place.map(_.group)))
        }.toMap
      val answers = bench.ask(packets)
      for ((cycle, Asked(v6, to, from, back)) <- packets) {
        val place = to.fold(0)(PrefixImage.lookup(places, v6, _))
        assert(answers(cycle) == (found(place, from), found(place, back)), s"cycle $cycle, place $place")
      }
      val hits = answers.values.toSeq.flatMap { case (own, returning) => Seq(own, returning) }
      for ((kind, number) <- hits.groupBy(_.getClass.getSimpleName)) info(s"$kind ${number.length}")
      assert(hits.count(_ == Nothing) > 1000 && hits.count(_ != Nothing) > 1000)
    }
  }

  test("a row that is not there, or beyond the table, is an upset, and a new row counts at once") {
    simulate(new PoliciesHarness(rows)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      val all = TestPrefix(v6 = false, 0, 0, 0)
      val ten = TestPrefix(v6 = false, BigInt(10) << 56, 8, 0)
      val places = Seq(1, 2, rows - 1, rows, rows + 1).zipWithIndex.map { case (row, n) =>
        TestPrefix(v6 = false, BigInt(n) << 56, 8, row)
      }
      bench.load(places)
      def ask(place: Int, source: BigInt = BigInt(10) << 56): Found =
        bench.ask(Map(0 -> Asked(v6 = false, Some(BigInt(place) << 56), source, 0)))(0)._1
      assert(places.indices.forall(ask(_) == Upset))
      bench.write(dut.io.table, 1, Entry(ten, 5, 7, next = 2).row)
      assert(ask(0) == Upset, "its next one is not there")
      bench.write(dut.io.table, 2, Entry(all, 6, 8).row)
      assert(ask(0) == To(5, 7) && ask(0, 0) == To(6, 8) && ask(1) == To(6, 8))
      bench.write(dut.io.table, 2, Entry(all, 9, 8, next = 1).row)
      assert(ask(1) == To(9, 8))
      bench.write(dut.io.table, rows - 1, Entry(all, 4, 1).row)
      assert(ask(2) == To(4, 1) && ask(3) == Upset && ask(4) == Upset)
      bench.write(dut.io.table, 1, Entry(ten, 5, 7, next = rows).row)
      assert(ask(0) == Upset)
      bench.write(dut.io.table, 1, 0)
      assert(ask(0) == Upset)
    }
  }
}
