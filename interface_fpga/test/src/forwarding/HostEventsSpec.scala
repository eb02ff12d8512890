// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.forwarding

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.EventQueue
import sallyport.common.registers.map.InnerRegs.{HostEvent => Fields}
import sallyport.common.simulation.CompiledOnce

class HostEventsSpec extends AnyFunSuite with CompiledOnce {
  private type Host = (Int, BigInt)

  private class Bench(dut: HostEvents) {
    dut.io.pop.poke(false)
    dut.io.clearLost.poke(false)
    dut.io.event.valid.poke(false)
    dut.reset.poke(true)
    dut.clock.step()
    dut.reset.poke(false)

    /** Packets every second cycle. */
    def send(hosts: Host*): Unit = sendOf(0)(hosts: _*)
    def sendOf(network: Int)(hosts: Host*): Unit = {
      for ((version, address) <- hosts) {
        dut.io.event.valid.poke(true)
        dut.io.event.bits.network.poke(network)
        dut.io.event.bits.v6.poke(version == 6)
        dut.io.event.bits.address.poke(address)
        dut.clock.step()
        dut.io.event.valid.poke(false)
        dut.clock.step()
      }
      dut.clock.step(2)
    }
    def value: BigInt = dut.io.value.peek().litValue
    def lost: Boolean = Fields.lost(value) == 1
    def pulse(wire: Bool): Unit = {
      wire.poke(true)
      dut.clock.step()
      wire.poke(false)
      dut.clock.step()
    }
    def taken(): Seq[Host] = Iterator
      .continually(value)
      .takeWhile(Fields.valid(_) == 1)
      .map { value =>
        val host = Fields.version(value).toInt -> dut.io.address.peek().litValue
        pulse(dut.io.pop)
        host
      }
      .toSeq
  }

  private def v4(n: Int): Host = 4 -> (BigInt(0x0a010000L) + n)
  private def v6(n: Int): Host = 6 -> ((BigInt(0x20010db8L) << 96) + n)

  test("each host once as long as events wait, however its packets mix with those of three others") {
    simulate(new HostEvents) { dut =>
      val bench = new Bench(dut)
      val few = Seq(v4(1), v6(1), v4(2), 6 -> v4(1)._2)
      bench.send(Seq.fill(50)(few).flatten: _*)
      assert(bench.taken() == few && !bench.lost)
      // And again once they were taken.
      bench.send(few.head, few.head)
      assert(bench.taken() == Seq(few.head))
      // Every bit of an address tells hosts apart.
      for (bit <- 0 until 128) {
        bench.send(6 -> BigInt(0), 6 -> (BigInt(1) << bit))
        assert(bench.taken() == Seq(6 -> BigInt(0), 6 -> (BigInt(1) << bit)))
      }
      // And so does every bit of its network.
      for (network <- Seq(0, 1, 2, 4, 8, 16, 32)) bench.sendOf(network)(few.head)
      val networks = Iterator.continually(bench.value).takeWhile(Fields.valid(_) == 1).map { value =>
        bench.pulse(dut.io.pop)
        Fields.network(value).toInt
      }
      assert(networks.toSeq == Seq(0, 1, 2, 4, 8, 16, 32))
      // A fifth takes the place of the first.
      val five = few :+ v4(5)
      bench.send(five ++ five: _*)
      assert(bench.taken() == five ++ five)
    }
  }

  test("16 wait, and the next is lost, which is said until software knows") {
    simulate(new HostEvents) { dut =>
      val bench = new Bench(dut)
      val hosts = (1 to EventQueue.entries).map(v4)
      bench.send(hosts: _*)
      assert(!bench.lost)
      bench.send(v4(99))
      assert(bench.lost)
      assert(bench.taken() == hosts)
      assert(bench.lost)
      bench.pulse(dut.io.clearLost)
      assert(!bench.lost)
      // One that was lost comes again with its next packet.
      bench.send(v4(99))
      assert(bench.taken() == Seq(v4(99)))
    }
  }
}
