// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

class QuiescentWriteSpec extends AnyFunSuite with CompiledOnce {

  test("a write holds packets until it is answered, or withdrawn before the look-ups have ended") {
    simulate(new QuiescentWrite()) { dut =>
      def held: Boolean = dut.io.hold.peek().litToBoolean
      dut.io.in.request.valid.poke(false)
      dut.io.in.request.bits.write.poke(true)
      dut.io.out.request.ready.poke(true)
      dut.io.out.response.valid.poke(false)
      dut.io.idle.poke(false)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      for (withdrawn <- Seq(true, false, true)) {
        dut.io.in.request.valid.poke(true)
        dut.clock.step(5)
        assert(held)
        dut.io.out.request.valid.expect(false)
        if (!withdrawn) {
          dut.io.idle.poke(true)
          dut.io.out.request.valid.expect(true)
          dut.clock.step()
          dut.io.in.request.valid.poke(false)
          dut.clock.step(3)
          assert(held, "until the answer")
          dut.io.out.response.valid.poke(true)
        }
        dut.io.in.request.valid.poke(false)
        dut.clock.step()
        dut.io.out.response.valid.poke(false)
        dut.io.idle.poke(false)
        assert(!held)
        dut.clock.step(3)
        assert(!held)
      }
    }
  }
}
