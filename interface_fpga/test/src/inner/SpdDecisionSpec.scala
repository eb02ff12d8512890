// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.Action
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

class SpdDecisionSpec extends AnyFunSuite with CompiledOnce {
  private case class Answer(hit: Boolean, action: Int, sa: Int, priority: Int)
  private case class Answers(flow: Answer, prefix: Answer, rule: Answer, upset: Boolean) {

    /** RFC 4301 4.4.1: the SPD is ordered; at equality the first of these wins. */
    def first: Option[Answer] = Seq(flow, prefix, rule).filter(_.hit).minByOption(_.priority)
  }

  /** RFC 4301 6.2, and the order of the SPD for a DISCARD policy of the error itself. */
  private def decide(own: Answers, returning: Option[Answers]): Option[Answer] = {
    val refused = own.first.forall(_.action == Action.discard)
    returning.flatMap(_.first).filter(answer =>
      refused && answer.action == Action.protect && own.first.forall(_.priority > answer.priority)
    ).orElse(own.first)
  }

  test("an error follows a PROTECT policy of the return traffic where nothing of its own lets it pass") {
    simulate(new SpdDecision) { dut =>
      val random = new Random(4301)
      // Few priorities, so that many are equal, and both ends of their range.
      val priorities = Seq(0, 1, 2, Int.MaxValue)
      val actions = Seq(Action.discard, Action.bypass, Action.protect, Action.punt)
      def answer() =
        Answer(
          random.nextBoolean(),
          actions(random.nextInt(4)),
          random.nextInt(1 << 16),
          priorities(random.nextInt(4))
        )
      def answers() = Answers(answer(), answer(), answer(), random.nextInt(20) == 0)
      def put(answers: Answers): Unit = {
        val in = dut.io.in
        for ((port, answer) <- Seq(in.flow -> answers.flow, in.prefix -> answers.prefix, in.rule -> answers.rule)) {
          port.hit.poke(answer.hit)
          port.action.poke(answer.action)
          port.sa.poke(answer.sa)
          // The highest bit counts as any.
          port.priority.poke(if (answer.priority == Int.MaxValue) BigInt("ffffffff", 16) else BigInt(answer.priority))
        }
        dut.io.in.upset.poke(answers.upset)
      }

      var seen = Map.empty[String, Int].withDefaultValue(0)
      for (_ <- 0 until 20000) {
        val (before, own, isError) = (answers(), answers(), random.nextBoolean())
        dut.io.error.poke(false)
        put(before)
        dut.clock.step()
        dut.io.error.poke(isError)
        put(own)
        dut.clock.step()
        // The next answers, as of the packet in another error, change nothing.
        dut.io.error.poke(false)
        put(answers())
        dut.clock.step()
        val expected = decide(own, Option.when(isError)(before))
        assert(dut.io.out.hit.peek().litToBoolean == expected.nonEmpty)
        for (policy <- expected) {
          assert(dut.io.out.sa.peek().litValue == policy.sa)
          assert(dut.io.out.action.peek().litValue == policy.action)
        }
        val refused = own.first.forall(_.action == Action.discard)
        assert(dut.io.upset.peek().litToBoolean == (own.upset || isError && refused && before.upset))
        val kind = if (!isError) "no error" else if (expected == own.first) "by itself" else "by the packet in it"
        seen += kind -> (seen(kind) + 1)
      }
      info(s"$seen")
      assert(seen.size == 3 && seen.values.forall(_ > 300))
    }
  }
}
