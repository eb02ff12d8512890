// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.dispatch

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import java.net.InetAddress

class ToeplitzSpec extends AnyFunSuite with CompiledOnce {

  /** Microsoft, "Verifying the RSS hash calculation". */
  private val key =
    BigInt("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa", 16)
  private val keyBits = 320

  /** From an address and port to another one, and the hash. */
  private val vectors = Seq(
    ("66.9.149.187", 2794, "161.142.100.80", 1766, 0x51ccc178L),
    ("199.92.111.2", 14230, "65.69.140.83", 4739, 0xc626b0eaL),
    ("24.19.198.95", 12898, "12.22.207.184", 38024, 0x5c2b394aL),
    ("38.27.205.30", 48228, "209.142.163.6", 2217, 0xafc7327fL),
    ("153.39.163.191", 44251, "202.188.127.2", 1303, 0x10e828a2L)
  )

  test("the hashes that Microsoft gives for its key") {
    val inputBits = 96
    val used = Toeplitz.keyBits(inputBits, 32)
    simulate(new Toeplitz(inputBits, 32)) { dut =>
      dut.io.key.poke(key >> (keyBits - used))
      for ((from, fromPort, to, toPort, hash) <- vectors) {
        def number(address: String) = BigInt(1, InetAddress.getByName(address).getAddress)
        val input = (number(from) << 64) | (number(to) << 32) | (BigInt(fromPort) << 16) | toPort
        dut.io.input.poke(input)
        dut.clock.step(Toeplitz.latency)
        assert(dut.io.out.peek().litValue == hash, s"from $from to $to")
        assert(ToeplitzModel(input, inputBits, key, keyBits, 32) == hash, s"the model, from $from to $to")
      }
    }
  }
}
