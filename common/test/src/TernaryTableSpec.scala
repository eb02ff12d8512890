package sallyport.common

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funsuite.AnyFunSuite

import sallyport.common.regs.RuleRow

import scala.util.Random

class TernaryTableSpec extends AnyFunSuite with ChiselSim {
  private val rows = 32
  private val keyBits = RuleRow.upper.msb + 1
  private val params = TernaryTableParams(rows, keyBits, RuleRow.srcMask.lsb, RuleRow.valid, RuleRow.priority)

  private val keyMask = (BigInt(1) << keyBits) - 1
  private val resultMask = ((BigInt(1) << params.maskLsb) - 1) ^ keyMask

  /** The answer as RFC 4301's ordered SPD gives it: sort, take the first that matches. */
  private def model(rules: Seq[BigInt], key: BigInt): Option[BigInt] =
    rules.zipWithIndex
      .filter { case (rule, _) => RuleRow.valid(rule) == 1 }
      .sortBy { case (rule, index) => (RuleRow.priority(rule), index) }
      .collectFirst {
        case (rule, _) if (key & (rule >> params.maskLsb)) == (rule & (rule >> params.maskLsb) & keyMask) =>
          rule & resultMask
      }

  /** Values from few bits, so that many rules match one key; priorities from few numbers, so that many are equal. */
  private def rule(random: Random): BigInt = {
    val mask = random.nextInt(16) match {
      case 0 => sparse(random)
      case n if n < 8 => BigInt(keyBits, random)
      case _ => keyMask
    }
    val value = sparse(random)
    val priority = if (random.nextBoolean()) BigInt(random.nextInt(4)) else BigInt(32, random)
    value | RuleRow.valid.put(if (random.nextInt(8) == 0) 0 else 1) | RuleRow.action.put(random.nextInt(4)) |
      RuleRow.sa.put(random.nextInt(1 << 16)) | RuleRow.priority.put(priority) | (mask << params.maskLsb)
  }
  private def sparse(random: Random): BigInt =
    Iterator.fill(4)(BigInt(keyBits, random)).reduce(_ & _)

  test("random rules, updated under traffic, answer as the model") {
    simulate(new TernaryTable(params)) { table =>
      val driver = new TableDriver(table.io, table.clock, table.reset, TernaryTable.latency)
      val random = new Random(6)
      assert(driver.start() == rows)
      def key() = sparse(random)
      assert(driver.lookup(Seq.fill(10)(key())).forall(!_.hit), "no rule after reset")

      val rules = Array.fill(rows)(BigInt(0))
      var hits, lookups = 0
      for (round <- 0 until 200) {
        val index = if (round < rows) round else random.nextInt(rows)
        val before = rules.toSeq
        rules(index) = rule(random)
        val after = rules.toSeq
        // While the rule changes each lookup, one a cycle, sees all of the old or all of the new; never old after new.
        var changed = false
        def check(result: driver.Result): Unit = {
          val answer = Option.when(result.hit)(result.row)
          val (old, fresh) = (model(before, result.key), model(after, result.key))
          lookups += 1
          if (result.hit) hits += 1
          if (old != fresh) {
            if (answer == fresh) changed = true
            else assert(answer == old && !changed, s"round $round")
          } else assert(answer == fresh, s"round $round")
        }
        driver.request(write = true, index, rules(index))
        // Keys that the change concerns, as far as there are any.
        val exact = Seq.fill(8)(rules(random.nextInt(rows)) & keyMask)
        val candidates = (exact ++ exact.map(_.flipBit(random.nextInt(keyBits))) ++ Seq.fill(24)(key())).sortBy(k =>
          model(before, k) == model(after, k)
        )
        val sent = candidates.iterator
        assert(!driver.finish(() => sent.nextOption())(check).error)
        for (_ <- 0 until 6) driver.step(sent.nextOption()).foreach(check)
        for (_ <- 0 until TernaryTable.latency) driver.step().foreach(check)
        changed = true
        for (k <- candidates.take(8); r <- driver.lookup(Seq(k))) check(r)
      }
      info(s"$hits hits in $lookups lookups")
      assert(hits > lookups / 4 && hits < lookups * 9 / 10, "the test needs both hits and misses")
      for (n <- 0 until rows) assert(driver.readRow(n) == driver.Response(error = false, rules(n)))
      assert(driver.readRow(rows).error)

      table.io.clear.poke(true.B)
      driver.step()
      table.io.clear.poke(false.B)
      assert(driver.lookup(Seq.fill(5)(key())).forall(!_.hit), "no rule while clearing")
      driver.untilReady()
      assert(driver.lookup(Seq.fill(50)(key())).forall(!_.hit), "no rule after clearing")
      assert(driver.readRow(3) == driver.Response(error = false, 0))
      // The order of rules starts anew: a rule written to a high row alone answers.
      val all = RuleRow.valid.put(1) | RuleRow.priority.put(0xffffffffL) | RuleRow.sa.put(77)
      driver.writeRow(31, all)
      val found = driver.lookup(Seq(key())).head
      assert(found.hit && found.row == all)
    }
  }
}
