// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.crypto.lane.LaneConfig
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
}
