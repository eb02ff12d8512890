// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{PrefixChildRow, PrefixRootRow, PrefixRow}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.{RowWrite, TablePort}

import scala.util.Random

/** Roots whose bits flip as a spec asks. */
private class FlippedRoots extends PrefixRoots(networks = 1) {
  lazy val flips: UInt = IO(Input(UInt((PrefixRootRow.bits + 1).W))).suggestName("flips")
  override protected def answered(word: UInt): UInt = word ^ flips
}

/** Longest-prefix match by the chip's tree, judged by its definition. */
class PrefixTreeSpec extends AnyFunSuite with CompiledOnce {
  private val last = 256

  private class Bench(dut: PrefixTree) {
    def start(): Unit = {
      dut.io.query.valid.poke(false)
      for (table <- Seq(dut.io.tables.node, dut.io.tables.child, dut.io.tables.root)) table.request.valid.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      while (!dut.io.ready.peek().litToBoolean) dut.clock.step()
    }

    /** One access; the row that was read, or nothing for an error. */
    def access(table: TablePort, index: Int, write: Option[BigInt])(each: => Unit): Option[BigInt] = {
      def step(): Unit = { each; dut.clock.step() }
      table.request.bits.write.poke(write.isDefined)
      table.request.bits.index.poke(index)
      table.request.bits.row.poke(write.getOrElse(BigInt(0)))
      table.request.valid.poke(true)
      while (!table.request.ready.peek().litToBoolean) step()
      step()
      table.request.valid.poke(false)
      while (!table.response.valid.peek().litToBoolean) step()
      val answer =
        Option.unless(table.response.bits.error.peek().litToBoolean)(table.response.bits.row.peek().litValue)
      step()
      answer
    }
    def write(table: TablePort, index: Int, row: BigInt)(each: => Unit): Unit =
      assert(access(table, index, Some(row))(each).isDefined, s"row $index")
    def load(rows: PrefixRows)(each: => Unit): Unit = {
      for ((index, row) <- rows.nodes) write(dut.io.tables.node, index, row)(each)
      for ((index, row) <- rows.children) write(dut.io.tables.child, index, row)(each)
      for ((index, row) <- rows.roots) write(dut.io.tables.root, index, row)(each)
    }

    def query(v6: Boolean, key: BigInt, policies: Boolean = false): Unit = {
      dut.io.query.valid.poke(true)
      dut.io.query.bits.policies.poke(policies)
      dut.io.query.bits.key.v6.poke(v6)
      dut.io.query.bits.key.address.poke(key)
    }

    /** Groups of keys that are asked for in consecutive cycles; -1 for an upset. */
    def ask(queries: Seq[(Boolean, BigInt)]): Seq[Int] = {
      val answers = for (cycle <- 0 until queries.length + PrefixTree.latency) yield {
        dut.io.query.valid.poke(false)
        queries.lift(cycle).foreach { case (v6, key) => query(v6, key) }
        val answer = group()
        dut.clock.step()
        answer
      }
      dut.io.query.valid.poke(false)
      answers.drop(PrefixTree.latency)
    }
    def group(): Int = if (dut.io.upset.peek().litToBoolean) -1 else dut.io.group.peek().litValue.toInt
  }

  /** Nested and neighbouring prefixes of both versions. */
  private def prefixes(random: Random, number: Int): Seq[TestPrefix] = {
    def key(v6: Boolean) = BigInt(PrefixNode.keyBits, random) >> (if (v6) 0 else 32) << (if (v6) 0 else 32)
    val bases = Seq.fill(12)(false -> key(false)) ++ Seq.fill(12)(true -> key(true))
    Seq.fill(number) {
      val (v6, base) = bases(random.nextInt(bases.length))
      val length = random.nextInt(if (v6) 65 else 33)
      val near = base ^ (BigInt(random.nextInt(16)) << (PrefixNode.keyBits - length).min(60))
      val masked = (if (random.nextBoolean()) near else key(v6)) & ((BigInt(1) << PrefixNode.keyBits) - 1)
      TestPrefix(v6, masked, length, 1 + random.nextInt(255))
    }.distinctBy(p => (p.v6, p.first, p.length))
  }

  private def keys(random: Random, of: Seq[TestPrefix], number: Int): Seq[(Boolean, BigInt)] = {
    val all = (BigInt(1) << PrefixNode.keyBits) - 1
    Seq.fill(number) {
      val p = of(random.nextInt(of.length))
      val near = Seq(p.first, p.first - 1, p.end - 1, p.end, p.first + BigInt(random.nextInt(1000)), all - 1, BigInt(0))
      p.v6 -> near(random.nextInt(near.length)).max(0).min(all - 1)
    }
  }

  test("the longest prefix, of both versions, at a key a cycle") {
    simulate(new PrefixTree(last)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      val random = new Random(1)
      assert(bench.ask(Seq(false -> BigInt(0), true -> BigInt(5))) == Seq(0, 0))
      for ((number, fill) <- Seq(1 -> 9, 2 -> 9, 20 -> 1, 120 -> 2, 900 -> 14)) {
        val of = prefixes(random, number)
        bench.load(PrefixImage.rows(of, fill))(())
        val asked = keys(random, of, 1500)
        for (((v6, key), got) <- asked.zip(bench.ask(asked)))
          assert(got == PrefixImage.lookup(of, v6, key), s"$v6 ${key.toString(16)} among $number prefixes")
        for (root <- 0 to 1) bench.write(dut.io.tables.root, root, 0)(())
        assert(bench.ask(asked.take(20)).forall(_ == 0))
      }
    }
  }

  test("a tree may start at each level that it fits, and takes rows of that and of those below") {
    simulate(new PrefixTree(last)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      val random = new Random(6)
      for ((number, lowest) <- Seq(2 -> 4, 25 -> 3, 400 -> 2)) {
        val of = prefixes(random, number)
        for (start <- 0 to lowest) {
          val image = PrefixImage.rows(of, start = Some(start))
          assert(image.nodes.map(_._1 >> PrefixNode.rowBits).distinct.sorted == (start to 4))
          bench.load(image)(())
          val asked = keys(random, of, 300)
          for (((v6, key), got) <- asked.zip(bench.ask(asked)))
            assert(got == PrefixImage.lookup(of, v6, key), s"$v6 ${key.toString(16)} from level $start")
        }
      }
    }
  }

  test("trees of routes and of policies share the rows, and each finds its own") {
    simulate(new PrefixTree(last)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      val random = new Random(4)
      val routes = prefixes(random, 300)
      // Side by side, with and without a gap.
      val policies =
        Seq.tabulate(250)(n => TestPrefix(n % 3 == 0, BigInt(n * 5 / 4) << 52, 12, 1 + random.nextInt(16383))) ++
          Seq(TestPrefix(v6 = false, (BigInt(1) << 64) - 1, 1, 16383), TestPrefix(v6 = true, BigInt(1) << 63, 64, 1))
      bench.load(PrefixImage.rows(routes, policies = policies))(())
      val asked = keys(random, routes ++ policies, 3000).map { case (v6, key) => (random.nextBoolean(), v6, key) }
      for (cycle <- 0 until asked.length + PrefixTree.latency) {
        dut.io.query.valid.poke(false)
        asked.lift(cycle).foreach { case (policies, v6, key) => bench.query(v6, key, policies) }
        for ((ofPolicies, v6, key) <- asked.lift(cycle - PrefixTree.latency)) {
          val want = PrefixImage.lookup(if (ofPolicies) policies else routes, v6, key)
          val policy = if (dut.io.live.peek().litToBoolean) dut.io.policy.peek().litValue.toInt else 0
          val got = if (ofPolicies) policy else bench.group()
          assert(got == want && !dut.io.upset.peek().litToBoolean, s"$ofPolicies $v6 ${key.toString(16)}")
        }
        dut.clock.step()
      }
    }
  }

  test("a look-up meets the old tree or the new one, while software writes beside traffic") {
    simulate(new PrefixTree(last)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      val random = new Random(2)
      val old = prefixes(random, 550)
      val changed = old.drop(40).map(p => if (p.length % 3 == 0) p.copy(group = 256 - p.group) else p) ++
        prefixes(random, 40).filterNot(p => old.exists(o => o.v6 == p.v6 && o.first == p.first && o.length == p.length))
      val before = PrefixImage.rows(old)
      bench.load(before)(())
      val used = Seq.tabulate(PrefixNode.levels)(level => before.nodes.count(_._1 >> PrefixNode.rowBits == level))
      val after = PrefixImage.rows(changed, firstRow = used)

      // A key every second cycle, as packets come.
      val asked = scala.collection.mutable.Queue[Option[(Boolean, BigInt)]]()
      var answered = 0
      def traffic(): Unit = {
        val next = Option.when(asked.length % 2 == 0)(keys(random, old ++ changed, 1).head)
        dut.io.query.valid.poke(false)
        next.foreach { case (v6, key) => bench.query(v6, key) }
        asked += next
        if (asked.length > PrefixTree.latency) {
          for ((v6, key) <- asked(asked.length - 1 - PrefixTree.latency)) {
            val got = bench.group()
            val (was, is) = (PrefixImage.lookup(old, v6, key), PrefixImage.lookup(changed, v6, key))
            assert(got == was || got == is, s"$v6 ${key.toString(16)}")
            answered += 1
          }
        }
      }
      bench.load(after)(traffic())
      assert(answered > 300)
      for (_ <- 0 to PrefixTree.latency) { traffic(); dut.clock.step() }
      val asks = keys(random, changed, 500)
      for (((v6, key), got) <- asks.zip(bench.ask(asks))) assert(got == PrefixImage.lookup(changed, v6, key))
    }
  }

  test("rows read as they were written, and no others are there") {
    simulate(new PrefixTree(last)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      val random = new Random(3)
      val rows = PrefixNode.rows(last)
      val gaps = PrefixChildRow.gaps.map(g => ((BigInt(1) << g.width) - 1) << g.lsb).reduce(_ | _)
      for ((count, level) <- rows.zipWithIndex; node <- Seq(0, count / 2, count - 1)) {
        val index = level << PrefixNode.rowBits | node
        for ((table, bits) <- Seq(dut.io.tables.node -> PrefixRow.bits, dut.io.tables.child -> PrefixChildRow.bits)) {
          val row = BigInt(bits, random)
          assert(bench.access(table, index, None)(()).contains(BigInt(0)))
          bench.write(table, index, row)(())
          val kept = if (bits == PrefixChildRow.bits) row &~ gaps else row
          assert(bench.access(table, index, None)(()).contains(kept))
        }
      }
      for ((count, level) <- rows.zipWithIndex; write <- Seq(None, Some(BigInt(1))))
        if (count < (1 << PrefixNode.rowBits))
          assert(bench.access(dut.io.tables.node, level << PrefixNode.rowBits | count, write)(()).isEmpty)
      assert(bench.access(dut.io.tables.node, rows.length << PrefixNode.rowBits, None)(()).isEmpty)
      assert(bench.access(dut.io.tables.root, 4, None)(()).isEmpty)
    }
  }

  test("each network has its own roots") {
    simulate(new PrefixTree(last, networks = 64)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      // Trees of the same addresses: the second stands for IPv4 in all networks but 0.
      val of = Seq(false -> 7, true -> 9).map { case (v6, group) => TestPrefix(v6, BigInt(10) << 56, 8, group) }
      val image = PrefixImage.rows(of)
      bench.load(image)(())
      val roots = image.roots.toMap
      for (network <- 1 until 64) bench.write(dut.io.tables.root, 4 * network, roots(1))(())
      def asked(network: Int): Int = {
        dut.io.query.bits.key.network.poke(network)
        bench.ask(Seq(false -> (BigInt(10) << 56))).head
      }
      for (network <- 0 until 64) assert(asked(network) == (if (network == 0) 7 else 9), s"network $network")
      bench.write(dut.io.tables.root, 4 * 5, 0)(())
      for (network <- 0 until 64)
        assert(asked(network) == Map(0 -> 7, 5 -> 0).getOrElse(network, 9), s"network $network")
      for (index <- Seq(0, 252)) assert(bench.access(dut.io.tables.root, index, None)(()).contains(roots(index / 252)))
      assert(bench.access(dut.io.tables.root, 256, None)(()).isEmpty)
    }
  }

  test("a flipped bit of a root is an upset, whatever tree it leads to") {
    simulate(new FlippedRoots) { dut =>
      def write(row: BigInt): Unit = RowWrite(dut.io.table, dut.clock, 1, row)
      dut.io.table.request.valid.poke(false)
      dut.flips.poke(0)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      while (!dut.io.ready.peek().litToBoolean) dut.clock.step()
      dut.io.query.policies.poke(false)
      dut.io.query.key.v6.poke(true)
      dut.io.query.key.network.poke(0)
      for (
        row <- Seq(BigInt(0), PrefixRootRow.valid.put(1) | PrefixRootRow.node.put(0x5a3) | PrefixRootRow.start.put(3))
      ) {
        write(row)
        dut.clock.step()
        val root = dut.io.root
        assert(!root.upset.peek().litToBoolean)
        assert(root.valid.peek().litToBoolean == (row != 0))
        assert(root.node.peek().litValue == PrefixRootRow.node(row))
        assert(root.start.peek().litValue == PrefixRootRow.start(row))
        for (bit <- 0 to PrefixRootRow.bits) {
          dut.flips.poke(BigInt(1) << bit)
          dut.clock.step()
          assert(root.upset.peek().litToBoolean, s"bit $bit")
        }
        dut.flips.poke(0)
      }
    }
  }

  test("a row that is not there, or a row beyond the level, is an upset and no answer") {
    simulate(new PrefixTree(last)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      val of = Seq(TestPrefix(v6 = false, 0, 0, 7), TestPrefix(v6 = false, BigInt(10) << 56, 8, 9))
      val image = PrefixImage.rows(of, start = Some(0))
      val asked = Seq(false -> (BigInt(10) << 56), false -> BigInt(1))
      bench.load(image)(())
      assert(bench.ask(asked) == Seq(9, 7))
      for ((index, row) <- image.nodes) {
        bench.write(dut.io.tables.node, index, row & ~PrefixRow.valid.put(1))(())
        assert(bench.ask(asked).contains(-1), s"node $index")
        bench.write(dut.io.tables.node, index, row)(())
      }
      for ((index, row) <- image.children) {
        bench.write(dut.io.tables.child, index, row & ~PrefixChildRow.valid.put(1))(())
        assert(bench.ask(asked).contains(-1), s"child $index")
        bench.write(dut.io.tables.child, index, row)(())
      }
      assert(bench.ask(asked) == Seq(9, 7))
      for ((rows, level) <- PrefixNode.rows(last).zipWithIndex) {
        val beyond = PrefixRootRow.valid.put(1) | PrefixRootRow.start.put(level) | PrefixRootRow.node.put(rows)
        bench.write(dut.io.tables.root, 0, beyond)(())
        assert(bench.ask(asked) == Seq(-1, -1), s"level $level")
      }
    }
  }
}
