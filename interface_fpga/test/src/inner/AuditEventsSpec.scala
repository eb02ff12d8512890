package sallyport.iface

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.regs.{AuditReason, InnerRegs}
import sallyport.common.regs.InnerRegs.{AuditControl, AuditEvent => Fields}
import scala.collection.mutable
import scala.util.Random

/** What a log of dropped packets is made of (RFC 4303 3.4.3, RFC 4301 5.2 step 4). */
class AuditEventsSpec extends AnyFunSuite with ChiselSim with InnerFrames {
  private val config = InnerConfig(saBits = 4, flowBits = 8, receiveBeats = 256)

  private case class Event(sa: Int, reason: Int, sequence: BigInt)
  private def of(value: BigInt, sequence: BigInt): Event =
    Event(Fields.sa(value).toInt, Fields.reason(value).toInt, sequence)

  private val audited = Map(
    "drop_replayed" -> AuditReason.replayed,
    "drop_too_old" -> AuditReason.tooOld,
    "drop_selector_mismatch" -> AuditReason.selectorMismatch,
    "drop_no_selector" -> AuditReason.noSelector
  )

  /** What is queued of events that come while none is taken. */
  private def queued(events: Seq[Event]): Seq[Event] = events.foldLeft(Seq.empty[Event]) { (waiting, event) =>
    if (waiting.lastOption.exists(last => last.sa == event.sa && last.reason == event.reason)) waiting
    else waiting :+ event
  }

  test("events come out in order; one like the last that waits is left out; what finds 16 is lost, and said to be") {
    simulate(new AuditEvents) { dut =>
      val random = new Random(5)
      val waiting = mutable.Queue.empty[Event]
      var lost = false
      var left = 0
      var losses = 0
      for (n <- 0 until 20000) {
        val value = dut.io.value.peek().litValue
        assert(Fields.valid(value) == (if (waiting.isEmpty) 0 else 1) && Fields.lost(value) == (if (lost) 1 else 0))
        waiting.headOption.foreach(oldest => assert(of(value, dut.io.sequence.peek().litValue) == oldest))

        // Software is slow in every other stretch.
        val pop = random.nextInt(if (n / 500 % 2 == 0) 2 else 40) == 0
        val clear = random.nextInt(50) == 0
        val sa = Seq(0, 1, 0x8001)(random.nextInt(3))
        val reason = random.nextInt(if (n % 1000 < 100) 1 else 4)
        val event = Option.when(random.nextInt(3) == 0)(Event(sa, reason, BigInt(32, random)))
        dut.io.pop.poke(pop)
        dut.io.clearLost.poke(clear)
        dut.io.event.valid.poke(event.nonEmpty)
        for (e <- event) {
          dut.io.event.bits.sa.poke(e.sa)
          dut.io.event.bits.reason.poke(e.reason)
          dut.io.event.bits.sequence.poke(e.sequence)
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

  test(
    "an event for each packet dropped for its number or its selectors, none for what goes on, is bypassed or dropped for more"
  ) {
    simulate(new InnerPathsHarness(config)) { dut =>
      val bench = new InnerBench(dut, config)
      bench.start()
      def oldest: BigInt = bench.bus.read(InnerRegs.auditEvent)

      /** All events that wait once these packets went by. */
      def send(packets: LinkPacket*): Seq[Event] = {
        packets.foreach(bench.fromLink)
        bench.idle(100)
        Iterator.continually(oldest).takeWhile(Fields.valid(_) == 1).map { value =>
          val event = of(value, bench.bus.read(InnerRegs.auditSequence))
          bench.bus.write(InnerRegs.auditControl, AuditControl.pop.put(1))
          event
        }.toSeq
      }

      // scapy's packets, of which each says what it must be counted as.
      val seen = decrypts.grouped(EventQueue.entries).flatMap { rows =>
        val want = for (row <- rows; reason <- audited.get(row.counter))
          yield Event(row.packet.sa, reason, row.packet.sequence & 0xffffffffL)
        val got = send(rows.map(_.packet): _*)
        assert(got == queued(want))
        got
      }.toSeq
      assert(seen.map(_.reason).toSet == audited.values.toSet, "reasons of scapy's packets")
      assert(!decrypts.exists(row => row.packet.bypass && audited.contains(row.counter)))
      info(s"${seen.size} events of ${decrypts.size} packets")

      // A copy sent without end, at the full rate, is one event until that is taken, and then one again.
      val good = decrypts.find(d => d.counter == "tx_frames" && d.packet.sa == 5).get.packet
      def packet(number: BigInt, sa: Int = 5): LinkPacket = good.copy(sequence = number, sa = sa)
      val high = (BigInt(3) << 32) + 0xfffffff0L
      val copies = Event(5, AuditReason.replayed, 0xfffffff0L)
      assert(send(Seq.fill(200)(packet(high)): _*) == Seq(copies))
      assert(send(packet(high), packet(high + 1), packet(high)) == Seq(copies))
      assert(Fields.lost(oldest) == 0)

      // Packets for other reasons, between copies and without a gap, in their order.
      val others = Seq(
        packet(high - 64) -> Event(5, AuditReason.tooOld, 0xffffffb0L),
        packet(high) -> copies,
        packet(9, sa = 9) -> Event(9, AuditReason.noSelector, 9),
        packet(high) -> copies,
        packet(high + 9, sa = 8) -> Event(8, AuditReason.selectorMismatch, 0xfffffff9L),
        packet(high + 9, sa = 8) -> Event(8, AuditReason.replayed, 0xfffffff9L)
      )
      assert(send(others.map(_._1): _*) == others.map(_._2))

      // What passes, is bypassed, or is wrong in another way.
      assert(send(packet(high + 2), packet(high).copy(bypass = true), packet(high + 3).copy(nextHeader = 59)).isEmpty)

      // The 17th is lost, and said to be, until software says that it knows.
      val many = Seq.tabulate(16)(n => others(n % 2))
      many.foreach(other => bench.fromLink(other._1))
      bench.idle(100)
      assert(Fields.lost(oldest) == 0)
      bench.fromLink(many.last._1)
      bench.idle(100)
      assert(Fields.lost(oldest) == 0, "one like the last needs no place")
      assert(send(many.head._1) == many.map(_._2) && Fields.lost(oldest) == 1)
      bench.bus.write(InnerRegs.auditControl, AuditControl.clearLost.put(1))
      assert(Fields.lost(oldest) == 0)
      assert(bench.balanced(bench.counters()).isEmpty)
    }
  }
}
