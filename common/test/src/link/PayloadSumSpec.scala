// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet

import scala.util.Random

class PayloadSumSpec extends AnyFunSuite with CompiledOnce {
  private val random = new Random(1071)

  test("packets of one beat to the longest, back to back and with pauses: the sum of their words, all ones too") {
    simulate(new PayloadSum) { dut =>
      val longest = Seq.fill(LinkFrame.maxBytes)(0xff.toByte)
      val packets = longest +: Seq.fill(40)(Seq.fill(64 * (1 + random.nextInt(4)))(random.nextInt().toByte)) :+ longest
      var expected = Seq.fill(PayloadSum.latency)(Option.empty[BigInt])
      for {
        packet <- packets
        (beat, i) <- packet.grouped(64).zipWithIndex
        pause = if (random.nextInt(4) == 0) random.nextInt(6) else 0
        valid <- Seq.fill(pause)(false) :+ true
      } {
        dut.io.valid.poke(valid)
        dut.io.first.poke(valid && i == 0)
        dut.io.data.poke(Packet.littleEndian(beat))
        expected.head.foreach(sum => dut.io.sum.expect(sum))
        val ends = valid && (i + 1) * 64 == packet.length
        expected = expected.tail :+ Option.when(ends)(packet.grouped(4).map(Packet.littleEndian).sum)
        dut.clock.step()
      }
    }
  }
}
