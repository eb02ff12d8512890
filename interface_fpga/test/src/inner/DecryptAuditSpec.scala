// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.EventQueue
import sallyport.common.registers.map.InnerRegs.{AuditControl, AuditEvent => Fields}
import sallyport.common.registers.map.{AuditReason, CommonRegs, FlowRow, InnerRegs, RegisterDesc, Upper}

/** What a log of dropped packets is made of (RFC 4303 3.4.3, RFC 4301 5.2 step 4). */
class DecryptAuditSpec extends AnyFunSuite with InnerPathsModel {

  private case class Event(sa: Int, reason: Int, sequence: BigInt)
  private def of(value: BigInt, sequence: BigInt): Event =
    Event(Fields.sa(value).toInt, Fields.reason(value).toInt, sequence)

  private val audited = Map(
    "drop_replayed" -> AuditReason.replayed,
    "drop_too_old" -> AuditReason.tooOld,
    "drop_selector_mismatch" -> AuditReason.selectorMismatch,
    "drop_no_selector" -> AuditReason.noSelector
  )

  /** The events that the queue keeps while none is taken. */
  private def queued(events: Seq[Event]): Seq[Event] = events.foldLeft(Seq.empty[Event]) { (waiting, event) =>
    if (waiting.lastOption.exists(last => last.sa == event.sa && last.reason == event.reason)) waiting
    else waiting :+ event
  }

  test(
    "an event for each packet dropped for its number or its selectors, none for what goes on, is bypassed or dropped for more"
  ) {
    simulatePaths { (_, bench) =>
      bench.start()
      bench.holdFragments()
      def oldest: BigInt = bench.bus.read(InnerRegs.auditEvent)

      /** All events that wait once these packets went by. */
      def send(packets: LinkPacket*): Seq[Event] = {
        packets.foreach(bench.fromLink)
        bench.idle(250)
        Iterator.continually(oldest).takeWhile(Fields.valid(_) == 1).map { value =>
          val event = of(value, bench.bus.read(InnerRegs.auditSequence))
          bench.bus.write(InnerRegs.auditControl, AuditControl.pop.put(1))
          event
        }.toSeq
      }

      // scapy's packets; each names the counter that must count it.
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

      // A copy sent without end, at the full rate, is one event until that is taken, and then
      // one again.
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

  private def number(bytes: Seq[Byte]): BigInt = BigInt(1, bytes.toArray)

  /**
   * RFC 791 and RFC 8200: the selectors of a packet, or `None` if headers stand between IP and
   * the upper layer.
   */
  private def selectorsOf(packet: Seq[Byte]): Option[BigInt] = {
    val v6 = packet.head >> 4 == 6
    val protocol = packet(if (v6) 6 else 9).toInt & 0xff
    val rest = packet.drop(if (v6) 40 else (packet.head & 15) * 4)
    val later = !v6 && (number(packet.slice(6, 8)) & 0x1fff) != 0
    val (upper, first, second) =
      if (later || rest.length < 4) (Upper.opaque, BigInt(0), BigInt(0))
      else if (Seq(6, 17, 132).contains(protocol)) (Upper.ports, number(rest.take(2)), number(rest.slice(2, 4)))
      else if (protocol == (if (v6) 58 else 1)) (Upper.icmp, number(rest.take(1)), number(rest.slice(1, 2)))
      else (Upper.opaque, BigInt(0), BigInt(0))
    val (source, destination) =
      if (v6) (packet.slice(8, 24), packet.slice(24, 40)) else (packet.slice(12, 16), packet.slice(16, 20))
    Option.unless(v6 && Seq(0, 43, 44, 60, 135).contains(protocol))(
      FlowRow.srcAddr.put(number(source)) | FlowRow.dstAddr.put(number(destination)) | FlowRow.srcPort.put(first) |
        FlowRow.dstPort.put(second) | FlowRow.protocol.put(protocol) | FlowRow.version.put(if (v6) 6 else 4) |
        FlowRow.upper.put(upper)
    )
  }

  test("an event has the cycle of its packet, and one of wrong selectors what was in the packet") {
    simulatePaths { (_, bench) =>
      bench.start()
      def read(low: RegisterDesc, high: RegisterDesc): BigInt = bench.bus.read(high) << 32 | bench.bus.read(low)
      def now: BigInt = read(CommonRegs.cyclesLo, CommonRegs.cyclesHi)

      /** When the oldest event came, and its packet's selectors. */
      def take(): (BigInt, BigInt) = {
        assert(Fields.valid(bench.bus.read(InnerRegs.auditEvent)) == 1)
        val time = read(InnerRegs.auditTimeLo, InnerRegs.auditTimeHi)
        val words = DecryptAudit.words.map(bench.bus.read(_))
        bench.bus.write(InnerRegs.auditControl, AuditControl.pop.put(1))
        (time, words.reverse.reduce((high, low) => high << 32 | low))
      }

      val wrong = decrypts.filter(_.counter == "drop_selector_mismatch").map(_.packet)
      val known = wrong.flatMap(packet => selectorsOf(packet.bytes).map(packet -> _))
      for ((packet, selectors) <- known) {
        val before = now
        bench.fromLink(packet)
        bench.idle(120)
        val (time, seen) = take()
        assert(time > before && time < now)
        assert(seen == selectors, show(packet))
      }
      info(s"${known.size} of ${wrong.size} packets")
      assert(known.map(_._2).map(FlowRow.upper(_).toInt).toSet == Set(Upper.opaque, Upper.ports, Upper.icmp))
      assert(known.map(_._2).map(FlowRow.version(_).toInt).toSet == Set(4, 6))

      // Packets behind one another, as fast as they come, and of two SAs: each has its own, also
      // with good packets between.
      val pairs = known.groupBy(_._1.sa).values.map(_.last).take(2).toSeq
      val good = decrypts.find(d => d.counter == "tx_frames" && d.packet.sa == 6).get.packet
      val burst = (0 until 12).map { n =>
        val (packet, selectors) = pairs(n % 2)
        packet.copy(sequence = packet.sequence + 1 + n) -> selectors
      }
      for ((packet, _) <- burst) {
        bench.fromLink(packet)
        bench.fromLink(good)
      }
      bench.idle(100)
      val seen = burst.map(_ => take())
      assert(seen.map(_._2) == burst.map(_._2))
      // A packet each two cycles at the most, and two of them from one event to the next.
      val times = seen.map(_._1)
      for ((before, after) <- times.zip(times.tail)) assert(after - before >= 4 && after - before < 60)
    }
  }
}
