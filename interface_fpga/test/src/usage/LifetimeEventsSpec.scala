// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import chisel3.util.Valid
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.EventQueue
import sallyport.common.registers.map.InnerRegs.LifetimeEvent
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

class LifetimeEventsSpec extends AnyFunSuite with CompiledOnce {

  test("events of both directions every second cycle come out once, in order; the 17th is lost, and said to be") {
    simulate(new LifetimeEvents) { dut =>
      var next = 0
      val sent = Seq.fill(2)(mutable.Queue.empty[BigInt])
      def offer(port: Valid[UsageEvent], direction: Int, send: Boolean): Unit = {
        port.valid.poke(send)
        if (send) {
          next += 1
          port.bits.sa.poke(next & 0xffff)
          port.bits.hard.poke(next % 3 == 0)
          port.bits.bytes.poke(next % 2 == 0)
          port.bits.packets.poke(next % 5 == 0)
          sent(direction).enqueue(
            LifetimeEvent.valid.put(1) | LifetimeEvent.sa.put(next & 0xffff) | LifetimeEvent.inbound.put(direction) |
              LifetimeEvent.hard.put(if (next % 3 == 0) 1 else 0) | LifetimeEvent.bytes.put(if (next % 2 == 0) 1
              else 0) |
              LifetimeEvent.packets.put(if (next % 5 == 0) 1 else 0)
          )
        }
      }
      def step(pop: Boolean, outbound: Boolean, inbound: Boolean, clear: Boolean = false): Unit = {
        val value = dut.io.value.peek().litValue
        if (pop && LifetimeEvent.valid(value) == 1)
          assert(sent(LifetimeEvent.inbound(value).toInt).dequeue() == (value & ~LifetimeEvent.lost.put(1)))
        dut.io.pop.poke(pop)
        dut.io.clearLost.poke(clear)
        offer(dut.io.outbound, 0, outbound)
        offer(dut.io.inbound, 1, inbound)
        dut.clock.step()
      }
      def lost: Boolean = LifetimeEvent.lost(dut.io.value.peek().litValue) == 1
      // Both at once and one behind the other, taken away as they come.
      for (shift <- 0 to 1; n <- 0 until 100) step(pop = true, outbound = n % 2 == 0, inbound = n % 2 == shift)
      val random = new Random(3)
      val last = mutable.Buffer(false, false)
      for (_ <- 0 until 2000) {
        val now = last.map(!_ && random.nextInt(3) == 0)
        step(pop = random.nextInt(4) != 0 || sent.map(_.size).sum > 12, now(0), now(1))
        last(0) = now(0)
        last(1) = now(1)
      }
      for (_ <- 0 until 40) step(pop = true, outbound = false, inbound = false)
      assert(!lost && sent.forall(_.isEmpty))

      for (n <- 0 until EventQueue.entries) step(pop = false, n % 2 == 0, n % 2 == 1)
      for (_ <- 0 until 3) step(pop = false, outbound = false, inbound = false)
      assert(!lost)
      step(pop = false, outbound = true, inbound = false)
      for (_ <- 0 until 3) step(pop = false, outbound = false, inbound = false)
      assert(lost)
      for (_ <- 0 until EventQueue.entries) step(pop = true, outbound = false, inbound = false)
      assert(sent(0).size == 1 && sent(1).isEmpty && LifetimeEvent.valid(dut.io.value.peek().litValue) == 0 && lost)
      step(pop = false, outbound = false, inbound = false, clear = true)
      assert(!lost)
    }
  }
}
