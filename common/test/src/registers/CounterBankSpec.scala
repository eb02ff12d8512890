// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

class CounterBankSpec extends AnyFunSuite with CompiledOnce {
  test("a read is whole while the carry runs into the high half") {
    simulate(new CounterBank(3)) { bank =>
      val full = (1 << CounterBank.incrementBits) - 1
      bank.reset.poke(true.B)
      bank.io.read.valid.poke(false.B)
      bank.io.read.bits.poke(1.U)
      bank.io.increments.foreach(_.poke(0.U))
      bank.clock.step()
      bank.reset.poke(false.B)
      bank.io.increments(1).poke(full.U)
      bank.io.increments(2).poke(1.U)
      bank.clock.step(((1L << 32) / full - 20).toInt)

      bank.io.read.valid.poke(true.B)
      bank.clock.step(CounterBank.readLatency)
      val seen = (0 until 50).map { _ =>
        assert(bank.io.value.valid.peek().litToBoolean)
        val value = bank.io.value.bits.peek().litValue
        bank.clock.step()
        value
      }
      assert(seen.head < (BigInt(1) << 32) && seen.last > (BigInt(1) << 32), "the test must cross the carry")
      assert(seen.zip(seen.tail).forall { case (a, b) => b - a == full })

      bank.io.increments.foreach(_.poke(0.U))
      bank.io.read.bits.poke(0.U)
      bank.clock.step(CounterBank.readLatency)
      assert(bank.io.value.bits.peek().litValue == 0)
    }
  }

  test("a gauge rises and falls by any step, and is the sum of all") {
    simulate(new CounterBank(2, gauges = Set(1))) { bank =>
      val most = (1 << (CounterBank.incrementBits - 1)) - 1
      val random = new Random(1)
      def add(change: Int): Unit = {
        bank.io.increments(1).poke((change & (1 << CounterBank.incrementBits) - 1).U)
        bank.clock.step()
      }
      def read(): BigInt = {
        add(0)
        bank.clock.step(CounterBank.readLatency)
        bank.io.value.bits.peek().litValue
      }
      bank.reset.poke(true.B)
      bank.io.increments.foreach(_.poke(0.U))
      bank.io.read.valid.poke(true.B)
      bank.io.read.bits.poke(1.U)
      bank.clock.step()
      bank.reset.poke(false.B)
      var level = 0
      for (_ <- 0 until 2000) {
        val change = random.nextInt(20) match {
          case 0 => most
          case 1 => -(most + 1).min(level)
          case 2 => -level.min(most)
          case _ => 1
        }
        add(change)
        level += change
        if (random.nextInt(4) == 0) assert(read() == level)
      }
      while (level > 0) {
        add(-level.min(most + 1))
        level -= level.min(most + 1)
      }
      assert(read() == 0)
    }
  }

  test("a gauge that is none of the counters is refused") {
    assertThrows[IllegalArgumentException](new CounterBank(2, gauges = Set(2)))
  }
}
