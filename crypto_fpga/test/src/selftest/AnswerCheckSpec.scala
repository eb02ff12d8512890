// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.lane.{LaneConfig, Verdict}
import sallyport.crypto.suite.Suite

/** Which packet of a lane an [[AnswerCheck]] lets out. */
class AnswerCheckSpec extends AnyFunSuite with CompiledOnce {
  private val config = LaneConfig(encrypt = true, suites = Seq("aes256gcm16", "aes256-sha256").map(Suite.named))
  private val cycles = 2048

  test("a packet is granted once it is offered, whatever was checked before, or it is late") {
    simulate(new AnswerCheck(config, new AnswerLayout(config), cycles)) { dut =>
      dut.reset.poke(true)
      dut.clock.step(2)
      dut.reset.poke(false)
      dut.io.valid.poke(false)
      for (index <- Seq(0, 1, 0, 0, 1, 1)) {
        val kind = if (config.suites(index).fast) 1 else 0
        def step(offer: Boolean): Seq[Boolean] = {
          dut.io.offer(kind).poke(offer)
          dut.io.offer(1 - kind).poke(true)
          val grants = Seq(kind, 1 - kind).map(dut.io.grant(_).peek().litToBoolean)
          dut.clock.step()
          grants
        }
        dut.io.active.poke(true)
        dut.io.start.valid.poke(true)
        dut.io.start.bits.index.poke(index)
        step(offer = false)
        dut.io.start.valid.poke(false)
        assert(Seq.fill(20)(step(offer = false)).flatten.forall(granted => !granted))
        val granted = Seq.fill(20)(step(offer = true))
        assert(granted.count(_.head) == 1 && granted.forall(!_.last))

        // Nothing comes out.
        var waited = 40
        while (!dut.io.late.peek().litToBoolean) { step(offer = false); waited += 1; assert(waited <= cycles + 2) }
        assert(waited >= cycles - 2)
        dut.clock.step()
        dut.io.active.poke(false)
        dut.clock.step()
      }
    }
  }

  /** What a lane shows of a beat. */
  private case class Shown(
      words: Seq[BigInt],
      bytes: Int,
      last: Boolean,
      verdict: Verdict.Type = Verdict.ok,
      length: Int = 0,
      nextHeader: Int = KnownAnswerList.nextHeader,
      error: Boolean = false
  )

  test("every wrong word and every wrong fact of a beat is found, and the right answer is not") {
    val layout = new AnswerLayout(config)
    simulate(new AnswerCheck(config, layout, cycles)) { dut =>
      dut.reset.poke(true)
      dut.clock.step(2)
      dut.reset.poke(false)
      dut.io.active.poke(true)
      dut.io.start.bits.forged.poke(false)

      /** Whether the check says that these beats are wrong. */
      def wrong(index: Int, beats: Seq[Shown]): Boolean = {
        var shown = 0
        // The words that were selected in the last two cycles, the older one first.
        var selected = Seq(0, 0)
        def show(): Unit = if (shown < beats.size) {
          val beat = beats(shown)
          dut.io.facts.bytes.poke(beat.bytes)
          dut.io.facts.last.poke(beat.last)
          dut.io.facts.error.poke(beat.error)
          dut.io.facts.verdict.poke(beat.verdict.litValue)
          dut.io.facts.length.poke(beat.length)
          dut.io.facts.nextHeader.poke(beat.nextHeader)
        }
        def step(): Unit = {
          val taken = dut.io.take.peek().litToBoolean
          val address = dut.io.address.peek().litValue.toInt
          val nextSelect = dut.io.select.peek().litValue.toInt
          dut.clock.step()
          dut.io.data.poke(layout.rows(address min (layout.rows.size - 1)))
          dut.io.word.poke(if (shown < beats.size) beats(shown).words(selected.head) else BigInt(0))
          selected = Seq(selected.last, nextSelect)
          if (taken) shown += 1
          show()
        }
        for (kind <- 0 to 1) dut.io.offer(kind).poke(true)
        dut.io.valid.poke(true)
        dut.io.start.bits.index.poke(index)
        dut.io.start.valid.poke(true)
        show()
        step()
        dut.io.start.valid.poke(false)
        var left = 200
        while (!dut.io.done.peek().litToBoolean) {
          step()
          left -= 1
          assert(left > 0, "the check does not end")
        }
        val said = dut.io.wrong.peek().litToBoolean
        step()
        said
      }

      for (index <- config.suites.indices) {
        val answer = KnownAnswer.of(config.suites(index)).bytes
        val words = answer.toSeq.padTo(128, 0.toByte).grouped(8).map(word => BigInt(1, word.reverse.toArray)).toSeq
        val good = Seq(
          Shown(words.take(8), 64, last = false, length = answer.length),
          Shown(words.drop(8), answer.length - 64, last = true, length = answer.length)
        )
        assert(!wrong(index, good), s"the right answer of suite $index")
        for (beat <- 0 to 1; word <- 0 until 8; bit <- Seq(0, 31, 63)) {
          val bad = good(beat).copy(words = good(beat).words.updated(word, good(beat).words(word).flipBit(bit)))
          assert(wrong(index, good.updated(beat, bad)), s"suite $index, beat $beat, word $word, bit $bit")
        }
        for (beat <- 0 to 1) {
          val right = good(beat)
          val bad = Seq(
            right.copy(bytes = right.bytes ^ 1),
            right.copy(verdict = Verdict.badIcv),
            right.copy(length = right.length + 1),
            right.copy(nextHeader = right.nextHeader ^ 2),
            right.copy(error = true)
          )
          for (shown <- bad) assert(wrong(index, good.updated(beat, shown)), s"suite $index, beat $beat: $shown")
        }
        assert(wrong(index, Seq(good.head.copy(last = true))), "one beat")
        assert(wrong(index, Seq(good.head, good(1).copy(last = false), good(1))), "three beats")
        assert(!wrong(index, good), "the right answer behind wrong ones")
      }
    }
  }
}
