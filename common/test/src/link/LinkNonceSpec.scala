// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

/**
 * Strangers must not know the nonce of a resynchronisation: a packet of theirs may be under way
 * when a receiver is reset.
 */
class LinkNonceSpec extends AnyFunSuite with CompiledOnce {

  test("the first nonce behind a reset is another one each time") {
    simulate(new LinkParser(withSequence = false, messages = false)) { dut =>
      dut.io.in.valid.poke(false)
      dut.io.hunt.valid.poke(false)
      dut.io.overrun.poke(false)
      dut.io.noise.poke(0)
      dut.io.up.poke(true)
      // Resets of one length, at times that have no order.
      val nonces = for (running <- Seq(3, 50, 51, 200, 7, 1000)) yield {
        dut.reset.poke(true)
        dut.clock.step(4)
        dut.reset.poke(false)
        dut.clock.step(running)
        assert(dut.io.hunting.peek().litToBoolean)
        dut.io.nonce.peek().litValue
      }
      assert(nonces.distinct == nonces && !nonces.contains(1), s"$nonces")
    }
  }
}
