// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.InnerRegs.AuditEvent
import sallyport.common.registers.map._
import sallyport.iface.reassembly.ReassemblyConfig

/** Fragments out of a tunnel that come before the first one of their datagram (RFC 4301 7.3). */
class DecryptWaitSpec extends AnyFunSuite with InnerPathsModel {
  private val good = decrypts.find(row => row.counter == "tx_frames" && row.packet.sa == 6).get.packet
  private def octets(address: String): Seq[Int] = address.split('.').toSeq.map(_.toInt)
  private val (from, to) = ("10.9.0.1", "10.0.0.1")
  private val (udp, other, free, spoke) = (4, 9, 15, 14)
  private val port = 5000
  private val (ticks, tick) = (60, ReassemblyConfig.small.tickCycles)
  private var number = BigInt(100)

  /** Bytes 0 to 23 of a datagram of UDP, or `payload` bytes at 24 `place` of it. */
  private def fragment(
      id: Int,
      place: Int,
      sa: Int = udp,
      port: Int = port,
      payload: Int = 24,
      protocol: Int = 17,
      to: String = to
  ): LinkPacket = {
    val header = Seq(0, 7, port >> 8, port & 0xff, 0, 96, 0, 0).map(_.toByte)
    val data = if (place == 0) header ++ Seq.fill(16)(1.toByte) else Seq.fill(payload)((place + 1).toByte)
    val (flags, offset) = (if (place == 3) 0 else 0x20, 3 * place)
    val bytes = good.bytes
      .take(20)
      .patch(4, Seq(id >> 8, id & 0xff).map(_.toByte), 2)
      .patch(6, Seq(flags | offset >> 8, offset & 0xff).map(_.toByte), 2)
      .updated(9, protocol.toByte)
    number += 1
    good.copy(bytes = Packet4.between(bytes ++ data, octets(from), octets(to)), sa = sa, sequence = number)
  }

  /** What red gets: the datagram and the place of each fragment in it. */
  private def received(bench: InnerBench): Seq[(Int, Int)] = bench.frames.toSeq.map { frame =>
    def word(at: Int): Int = (frame(at) & 0xff) << 8 | frame(at + 1) & 0xff
    (word(18), (word(20) & 0x1fff) / 3)
  }

  private def write(bench: InnerBench, index: Int, more: BigInt = 0): Unit = {
    val ports = if (index == free || index == spoke) (0, 65535) else (port, port)
    val row = SelectorRow.valid.put(1) | SelectorRow.srcPortLast.put(65535) | SelectorRow.replay.put(1) |
      SelectorRow.version.put(4) | SelectorRow.versionMask.put(15) |
      SelectorRow.dstAddr.put(InnerSetup.address(to)) | SelectorRow.dstPrefix.put(InnerSetup.prefix(to, 24)) |
      SelectorRow.dstPort.put(ports._1) | SelectorRow.dstPortLast.put(ports._2) | SelectorRow.windowSize.put(64) |
      SelectorRow.windowRow0.put(index) | SelectorRow.nextHop.put(if (index == spoke) 9 else 7) | more |
      (if (ports._1 == 0) BigInt(0)
       else
         SelectorRow.protocol.put(17) | SelectorRow.protocolMask.put(255) | SelectorRow.upper.put(Upper.ports) |
           SelectorRow.upperMask.put(15))
    assert(bench.bus.writeRow(InnerTables.selector, index, row), s"row $index")
  }

  private def start(bench: InnerBench): Map[String, BigInt] = {
    bench.start()
    bench.bus.write(InnerRegs.reasmTimeout, ticks)
    assert(bench.bus.writeRow(InnerTables.nextHop, 9, NextHopRow.valid.put(1) | NextHopRow.hairpin.put(1)))
    for (sa <- Seq(udp, other, free, spoke)) write(bench, sa)
    bench.idle(100)
    bench.counters()
  }

  private def send(bench: InnerBench, packets: LinkPacket*): Unit = {
    packets.foreach(bench.fromLink)
    bench.idle(300)
  }

  test("they wait where the SA names ports, and follow it, in any order, whatever the window says of them") {
    simulatePaths { (_, bench) =>
      val before = start(bench)
      for ((order, id) <- Seq(0, 1, 2, 3).permutations.zipWithIndex) {
        bench.frames.clear()
        send(bench, order.map(fragment(id, _)): _*)
        val got = received(bench)
        assert(got.sorted == Seq(0, 1, 2, 3).map(id -> _), s"$order")
        assert(got.map(_._2).indexOf(0) <= order.indexOf(0), s"$order: the first one goes first")
      }
      val moved = bench.balanced(before)
      assert(moved == Map[String, BigInt]("link_rx_packets" -> 96, "tx_frames" -> 96, "tx_bytes" -> moved("tx_bytes")))

      // Held meanwhile, and what others send goes on; an SA that names no ports takes them at once.
      bench.frames.clear()
      send(bench, fragment(500, 1), fragment(501, 3), fragment(502, 2, free))
      assert(received(bench) == Seq(502 -> 2))
      assert(bench.balanced(before)("inner_frag_held") == 2)
      send(bench, fragment(500, 0), fragment(501, 0, other), fragment(501, 0))
      assert(received(bench).drop(1).toSet == Set(500 -> 0, 500 -> 1, 501 -> 0, 501 -> 3))
      assert(!bench.balanced(before).contains("inner_frag_held"))
    }
  }

  test("what the first one says decides, and a copy is a replay") {
    simulatePaths { (_, bench) =>
      val before = start(bench)
      val (late, wrong) = (fragment(1, 1), fragment(2, 1))
      send(bench, late, late, wrong, fragment(2, 0, port = 9), fragment(1, 0), late)
      assert(received(bench).toSet == Set(1 -> 0, 1 -> 1))
      val moved = bench.balanced(before) - "tx_bytes"
      val want = Map[String, BigInt](
        "link_rx_packets" -> 6,
        "tx_frames" -> 2,
        "drop_replayed" -> 2,
        "drop_selector_mismatch" -> 2
      )
      assert(moved == want)
    }
  }

  test("one whose first one does not come is dropped, and audited, when its time is over") {
    simulatePaths { (_, bench) =>
      val before = start(bench)
      send(bench, fragment(1, 1))
      bench.idle(ticks / 2 * tick)
      assert(bench.balanced(before)("inner_frag_held") == 1)
      bench.idle((ticks / 2 + 2) * tick)
      val want = Map[String, BigInt]("link_rx_packets" -> 1, "drop_selector_mismatch" -> 1)
      assert(bench.balanced(before) == want)
      val event = bench.bus.read(InnerRegs.auditEvent)
      assert(AuditEvent.valid(event) == 1 && AuditEvent.reason(event) == AuditReason.selectorMismatch)
      assert(bench.bus.read(InnerRegs.auditSequence) == number)
      send(bench, fragment(1, 0))
      assert(received(bench) == Seq(1 -> 0))
    }
  }

  test("none waits that no first fragment could bring within its SA's selectors") {
    simulatePaths { (_, bench) =>
      val before = start(bench)
      send(bench, fragment(1, 1, to = "10.0.1.1"), fragment(2, 1, protocol = 6), fragment(3, 1))
      val want = Map[String, BigInt]("link_rx_packets" -> 3, "drop_selector_mismatch" -> 2, "inner_frag_held" -> 1)
      assert(bench.balanced(before) == want)
    }
  }

  test("none that waited is let in by selectors or rules that were written meanwhile") {
    simulatePaths { (_, bench) =>
      val changes: Seq[() => Unit] = Seq(
        () => write(bench, udp, SelectorRow.dstPortLast.put(65535)), // of an SA that takes all
        () => assert(bench.bus.writeRow(InnerTables.inboundRule, 63, 0))
      )
      for ((change, n) <- changes.zipWithIndex) {
        if (n == 0) start(bench) else write(bench, udp)
        val before = bench.counters()
        bench.frames.clear()
        val (one, two) = (2 * n + 1, 2 * n + 2)
        send(bench, fragment(one, 1), fragment(two, 2, other))
        change()
        send(bench, fragment(one, 0), fragment(two, 0, other), fragment(two, 1, other))
        assert(received(bench) == Seq(one -> 0, two -> 0, two -> 1))
        val want = Map[String, BigInt]("link_rx_packets" -> 5, "tx_frames" -> 3, "drop_inner_frag_full" -> 2)
        assert(bench.balanced(before) - "tx_bytes" == want)
        assert(AuditEvent.valid(bench.bus.read(InnerRegs.auditEvent)) == 0)
      }
    }
  }

  test("they wait on their way to another tunnel, whose policies may name ports") {
    simulatePaths { (_, bench) =>
      val before = start(bench)
      val rules = Seq(805 -> 6000, 806 -> port)
      for (((sa, to), n) <- rules.zipWithIndex) {
        val rule = InnerSetup.Rule("10.0.0.0", 16, Action.protect, sa, 1, protocol = 17, port = to)
        assert(bench.bus.writeRow(InnerTables.rule, InnerSetup.rules.length + n, rule.row))
      }
      bench.toLink.clear()
      send(bench, fragment(1, 2, spoke), fragment(1, 3, spoke))
      assert(bench.toLink.isEmpty && bench.balanced(before)("inner_frag_held") == 2)
      send(bench, fragment(1, 0, spoke), fragment(1, 1, spoke))
      assert(bench.toLink.map(_.sa).toSeq == Seq.fill(4)(806))
      val want = Map[String, BigInt]("link_rx_packets" -> 4, "tx_hairpin" -> 4, "rx_hairpin" -> 4, "tx_protect" -> 4)
      assert(bench.balanced(before) == want)
    }
  }

  test("a flood of them takes room from older ones of the flood alone, and nothing from whole packets") {
    simulatePaths { (_, bench) =>
      val before = start(bench)
      val flood = 300
      for (n <- 0 until flood) {
        bench.fromLink(fragment(1000 + n, 1, payload = 24 * (1 + n % 9)))
        if (n % 10 == 0) bench.fromLink(fragment(n, 0))
      }
      bench.idle(300)
      assert(received(bench) == Seq.tabulate(flood / 10)(n => 10 * n -> 0))
      val crowded = bench.balanced(before)
      val (held, full) = (crowded("inner_frag_held"), crowded("drop_inner_frag_full"))
      assert(held + full == flood && held > 20 && held <= DecryptWait.frames)
      info(s"$held of $flood wait")
      // The youngest is among them, and a fragment that comes now is, too.
      send(bench, fragment(2000, 1), fragment(2000, 0), fragment(1000 + flood - 1, 0))
      assert(received(bench).takeRight(4).toSet == Set(
        2000 -> 0,
        2000 -> 1,
        1000 + flood - 1 -> 0,
        1000 + flood - 1 -> 1
      ))
      bench.idle((ticks + 2) * tick)
      assert(!bench.balanced(before).contains("inner_frag_held"))
    }
  }
}
