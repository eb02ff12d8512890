// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.RuleRow
import sallyport.common.simulation.{CompiledOnce, LongForm}

import scala.util.Random

class TernaryTableSpec extends AnyFunSuite with CompiledOnce {
  private val keyBits = RuleRow.network.msb + 1
  private val maskLsb = RuleRow.srcMask.lsb
  private val keyMask = (BigInt(1) << keyBits) - 1
  private val resultMask = ((BigInt(1) << maskLsb) - 1) ^ keyMask

  /** The answer as RFC 4301's ordered SPD gives it: the first that matches. */
  private def model(rules: Seq[BigInt], key: BigInt): Option[BigInt] = rules.collectFirst {
    case rule if RuleRow.valid(rule) == 1 && (key & (rule >> maskLsb)) == (rule & (rule >> maskLsb) & keyMask) =>
      rule & resultMask
  }

  /** Values from few bits, so that many rules match one key. */
  private def rule(random: Random): BigInt = {
    val mask = random.nextInt(16) match {
      case 0 => sparse(random)
      case n if n < 8 => BigInt(keyBits, random)
      case _ => keyMask
    }
    sparse(random) | result(random) | RuleRow.valid.put(if (random.nextInt(8) == 0) 0 else 1) | (mask << maskLsb)
  }
  private def sparse(random: Random): BigInt =
    Iterator.fill(4)(BigInt(keyBits, random)).reduce(_ & _)
  private def result(random: Random): BigInt =
    RuleRow.action.put(random.nextInt(4)) | RuleRow.sa.put(random.nextInt(1 << 16)) |
      RuleRow.priority.put(BigInt(32, random))

  for ((rows, rounds) <- Seq(32 -> 150, 128 -> 75))
    test(s"$rows random rules, updated under traffic, answer as the model") {
      if (rows > 32) LongForm.only()
      val params = TernaryTableParams(rows, keyBits, maskLsb, RuleRow.valid)
      simulate(new TernaryTable(params)) { table =>
        val driver = new TableDriver(table.io, table.clock, table.reset, params.latency)
        val random = new Random(6)
        assert(driver.start() == rows)
        def key() = sparse(random)
        assert(driver.lookup(Seq.fill(10)(key())).forall(!_.hit), "no rule after reset")

        val rules = Array.fill(rows)(BigInt(0))
        var hits, lookups, gaps = 0
        for (round <- 0 until rounds) {
          // Two new rules of three; else another result of one that is there.
          val index = if (round < rows && round % 3 != 2) round * 37 % rows else random.nextInt(rows)
          val before = rules.toSeq
          val changesResult = round % 3 == 2 && RuleRow.valid(rules(index)) == 1
          rules(index) =
            if (changesResult) rules(index) & ~resultMask | RuleRow.valid.put(1) | result(random) else rule(random)
          val after = rules.toSeq
          // While the rule changes, lookups see the old rule, then no rule in its place, then the
          // new one. If the result alone changes, they see the old, then the new one.
          val states = if (changesResult) Seq(before, after) else Seq(before, before.updated(index, BigInt(0)), after)
          var state = 0
          def check(result: driver.Result): Unit = {
            val answer = Option.when(result.hit)(result.row)
            lookups += 1
            if (result.hit) hits += 1
            val possible = states.indices.drop(state).find(s => model(states(s), result.key) == answer)
            assert(possible.isDefined, s"round $round")
            if (possible.get == 1 && states.size == 3) gaps += 1
            state = possible.get
          }
          driver.request(write = true, index, rules(index))
          // Keys that the change concerns, as far as there are any.
          val exact = rules(index) +: before(index) +: Seq.fill(6)(rules(random.nextInt(rows)))
          val near = exact.map(_ & keyMask)
          val candidates = (near ++ near.map(_.flipBit(random.nextInt(keyBits))) ++ Seq.fill(8)(key()))
            .sortBy(k => model(before, k) == model(after, k))
          val sent = Iterator.continually(candidates).flatten.flatMap(k => Seq(Some(k), None))
          assert(!driver.finish(() => sent.next())(check).error)
          for (_ <- 0 until params.latency) driver.step().foreach(check)
          state = states.size - 1
          for (r <- driver.lookup(candidates)) check(r)
        }
        info(s"$hits hits in $lookups lookups, $gaps while a row was being written")
        assert(hits > lookups / 20 && hits < lookups * 9 / 10 && gaps > 100, "the test needs both hits and misses")
        for (n <- 0 until rows) assert(driver.readRow(n) == driver.Response(error = false, rules(n)))
        assert(driver.readRow(rows).error)

        table.io.clear.poke(true.B)
        driver.step()
        table.io.clear.poke(false.B)
        assert(driver.lookup(Seq.fill(5)(key())).forall(!_.hit), "no rule while clearing")
        driver.untilReady()
        assert(driver.lookup(Seq.fill(50)(key())).forall(!_.hit), "no rule after clearing")
        assert(driver.readRow(3) == driver.Response(error = false, 0))
        // What the memories still hold of other rows does not matter.
        val all = RuleRow.valid.put(1) | RuleRow.priority.put(0xffffffffL) | RuleRow.sa.put(77)
        driver.writeRow(rows - 1, all)
        val found = driver.lookup(Seq(key())).head
        assert(found.hit && found.row == all)
      }
    }
}
