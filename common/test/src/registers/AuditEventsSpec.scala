// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.clock.CycleCounter
import sallyport.common.registers.map.InnerRegs.{AuditEvent => Fields}
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Random

/** What a log of dropped packets is made of (RFC 4303 3.4.3 and 3.4.4.1, RFC 4301 5.2 step 4). */
class AuditEventsSpec extends AnyFunSuite with CompiledOnce {
  private val keyBits = 70
  private val mask = (BigInt(1) << 64) - 1

  private case class Event(sa: Int, reason: Int, sequence: BigInt, time: BigInt, packet: BigInt)

  /** The events that the queue keeps while none is taken. */
  private def queued(events: Seq[Event]): Seq[Event] = events.foldLeft(Seq.empty[Event]) { (waiting, event) =>
    if (waiting.lastOption.exists(last => last.sa == event.sa && last.reason == event.reason)) waiting
    else waiting :+ event
  }

  test("events come out in order; one like the last that waits is left out; what finds 16 is lost, and said to be") {
    simulate(new AuditEvents(keyBits)) { dut =>
      val random = new Random(5)
      val waiting = mutable.Queue.empty[Event]
      var lost = false
      var left = 0
      var losses = 0
      var cycles = BigInt(0)
      for (n <- 0 until 20000) {
        val value = dut.io.value.peek().litValue
        assert(Fields.valid(value) == (if (waiting.isEmpty) 0 else 1) && Fields.lost(value) == (if (lost) 1 else 0))
        for (oldest <- waiting.headOption) {
          val rest = Seq(dut.io.sequence, dut.io.time, dut.io.packet).map(_.peek().litValue)
          assert(Event(Fields.sa(value).toInt, Fields.reason(value).toInt, rest(0), rest(1), rest(2)) == oldest)
        }

        // Software is slow in every other stretch.
        val pop = random.nextInt(if (n / 500 % 2 == 0) 2 else 40) == 0
        val clear = random.nextInt(50) == 0
        val sa = Seq(0, 1, 0x8001)(random.nextInt(3))
        val reason = random.nextInt(if (n % 1000 < 100) 1 else 5)
        cycles += 1 + BigInt(random.nextInt(60), random)
        val event =
          Option.when(random.nextInt(3) == 0)(Event(
            sa,
            reason,
            BigInt(32, random),
            cycles & mask,
            BigInt(keyBits, random)
          ))
        dut.io.cycles.poke(cycles & mask)
        dut.io.pop.poke(pop)
        dut.io.clearLost.poke(clear)
        dut.io.event.valid.poke(event.nonEmpty)
        for (e <- event) {
          dut.io.event.bits.sa.poke(e.sa)
          dut.io.event.bits.reason.poke(e.reason)
          dut.io.event.bits.sequence.poke(e.sequence)
          dut.io.event.bits.packet.poke(e.packet)
        }
        dut.clock.step()

        val fresh = event.filter(e => queued(waiting.lastOption.toSeq :+ e).size > waiting.lastOption.size)
        left += event.size - fresh.size
        val full = waiting.size == EventQueue.entries
        if (clear) lost = false
        if (fresh.nonEmpty && full) {
          lost = true
          losses += 1
        }
        if (pop && waiting.nonEmpty) waiting.dequeue()
        if (!full) waiting ++= fresh
      }
      assert(left > 100 && losses > 100)
    }
  }

  test("the counter of cycles is 0 after reset and one more each cycle") {
    simulate(new CycleCounter) { dut =>
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      for (n <- 0 until 1000) {
        dut.io.value.expect(n)
        dut.clock.step()
      }
    }
  }
}
