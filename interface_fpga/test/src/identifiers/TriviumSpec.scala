// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.identifiers

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

class TriviumSpec extends AnyFunSuite with CompiledOnce {

  /** eSTREAM's bytes have their first bit lowest, in keys and keystream alike. */
  private def number(hex: String): BigInt = hex.grouped(2).map(Integer.parseInt(_, 16)).foldLeft(BigInt(0)) {
    (before, byte) => (before << 8) + (Integer.reverse(byte) >>> 24)
  }

  test("the keystream is that of eSTREAM's verified vectors (80 bits, IV of zeros)") {
    simulate(new Trivium) { dut =>
      for (
        (key, stream) <- Seq(
          "80000000000000000000" -> "38eb86ff730d7a9caf8df13a4420540d",
          "00000000000000000000" -> "fbe0bf265859051b517a2e4e239fc97f563203161907cf2de7a8790fa1b2e9cd"
        )
      ) {
        dut.io.step.poke(true)
        dut.io.load.valid.poke(true)
        dut.io.load.bits.poke(number(key))
        dut.clock.step()
        dut.io.load.valid.poke(false)
        dut.clock.step(Trivium.warmUpSteps)
        val words = stream.grouped(16).map { word =>
          dut.io.keystream.expect(number(word), s"key $key")

          // Without a step nothing moves.
          dut.io.step.poke(false)
          dut.clock.step()
          dut.io.keystream.expect(number(word))
          dut.io.step.poke(true)
          dut.clock.step()
        }
        assert(words.size == stream.length / 16)
      }
    }
  }
}
