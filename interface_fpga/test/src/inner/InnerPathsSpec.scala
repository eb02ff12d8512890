// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{
  Action,
  DscpSaRow,
  InnerRegs,
  InnerTables,
  PuntReason,
  ReplayRow,
  RuleRow,
  SelectorRow
}
import sallyport.common.stream.Packet
import sallyport.iface.reassembly.{ChipFragments, ReassemblyConfig}

/**
 * Judged by scapy: tests/vectors/test_inner_frames.py makes the frames, their expected outcomes and
 * the counters that must count them.
 */
class InnerPathsSpec extends AnyFunSuite with InnerPathsModel {

  test("encrypt path: every frame becomes what scapy says, under its own counter") {
    simulatePaths { (dut, bench) =>
      bench.start(setup = false)
      val none = bench.counters()
      assert(none.values.forall(_ == 0))
      // Nothing passes before software says so.
      bench.receive(encrypts.head.frame, gap = 120)
      assert(bench.balanced(none) == Map("rx_frames" -> 1, "rx_bytes" -> 64, "drop_not_ready" -> 1))
      InnerSetup.write(bench.bus, config)

      var before = bench.counters()
      for ((row, i) <- encrypts.zipWithIndex) bench.receive(row.frame, gap = if (i % 3 == 0) i % 7 else 0)
      bench.idle(1000)
      expect(sorted(bench.toLink.toSeq), sorted(encrypts.flatMap(_.expected)), "packet")(show)
      val punted = encrypts.filter(row => reasons.contains(row.counter)).map(row => reasons(row.counter) -> row.frame)
      def inOrder(punts: Seq[(Int, Seq[Byte])]) = punts.sortBy { case (reason, frame) => s"$reason ${hex(frame)}" }
      expect(inOrder(bench.punts.toSeq), inOrder(punted), "punted frame") { case (reason, frame) =>
        s"$reason ${hex(frame)}"
      }
      val received =
        Map("rx_frames" -> BigInt(encrypts.size), "rx_bytes" -> BigInt(encrypts.map(_.frame.length + 4).sum))
      assert(bench.balanced(before) == count(encrypts.flatMap(_.counters)) ++ received)

      // Frames that the MAC side refuses, among good ones.
      before = bench.counters()
      bench.toLink.clear()
      val good = encrypts.head
      for (frame <- Seq(Seq.fill(59)(1.toByte), Seq.fill(9597)(1.toByte))) {
        bench.receive(good.frame)
        bench.receive(frame)
        bench.receive(good.frame, fcsError = true)
      }
      bench.idle(100)
      val refused = Map[String, BigInt](
        "rx_frames" -> 6,
        "drop_rx_undersize" -> 1,
        "drop_rx_oversize" -> 1,
        "drop_rx_bad_fcs" -> 2,
        "tx_protect" -> 2
      )
      assert(bench.balanced(before) - "rx_bytes" == refused)
      assert(bench.toLink.toSeq == Seq.fill(2)(good.expected.head))

      // MAC filter: the port's address and group addresses alone, which are for no packet to one
      // host.
      before = bench.counters()
      bench.toLink.clear()
      bench.bus.write(InnerRegs.control, InnerRegs.Control.rxEnable.put(1) | InnerRegs.Control.macFilter.put(1))
      for (address <- Seq("020000000001", "020000000009", "030000000009", "ffffffffffff"))
        bench.receive(bytes(address) ++ good.frame.drop(6))
      bench.idle(120)
      val filtered = Map("rx_frames" -> 4, "drop_mac_filter" -> 1, "drop_mac_group" -> 2, "tx_protect" -> 1)
      assert(bench.balanced(before) - "rx_bytes" == filtered)
      bench.bus.write(InnerRegs.control, InnerRegs.Control.rxEnable.put(1))

      // Link down; a dead CPU; a link that stalls.
      before = bench.counters()
      bench.toLink.clear()
      dut.io.linkUp.poke(false)
      bench.idle(3)
      bench.receive(good.frame, gap = 120)
      dut.io.linkUp.poke(true)
      bench.idle(3)
      assert(bench.balanced(before) - "rx_bytes" == Map("rx_frames" -> 1, "drop_link_down" -> 1))
      before = bench.counters()
      bench.punts.clear()
      val arp = encrypts.find(_.counter == "punt_arp").get
      dut.io.punt.ready.poke(false)
      for (_ <- 0 until 300) bench.receive(arp.frame, gap = 1)
      for (_ <- 0 until 10) bench.receive(good.frame, gap = 1)
      bench.idle(120)
      assert(bench.toLink.size == 10, "a dead CPU holds up traffic")
      dut.io.punt.ready.poke(true)
      bench.idle(800) // a frame is two beats, with its header
      val dead = bench.balanced(before)
      assert(dead(
        "drop_punt_overflow"
      ) > 0 && dead("punt_arp") + dead("drop_punt_overflow") == 300 && bench.punts.size == dead("punt_arp"))
      before = bench.counters()
      bench.toLink.clear()
      dut.io.toLink.ready.poke(false)
      for (_ <- 0 until 700) bench.receive(good.frame)
      dut.io.toLink.ready.poke(true)
      bench.idle(1200)
      val stalled = bench.balanced(before)
      assert(stalled("drop_rx_overflow") > 0 && stalled("tx_protect") == bench.toLink.size)
      assert(bench.toLink.forall(_ == good.expected.head))
    }
  }

  test("encrypt path: a policy's packets go to the SA of their DSCP, and to the CPU where there is none") {
    simulatePaths { (_, bench) =>
      bench.start()
      // Packets of three rules and of a flow, whose SAs become blocks: the first there is, the
      // last, and in the end those beyond.
      val blocks = Map(5 -> 0, 10 -> 2, 700 -> 63)
      def write(blocks: Map[Int, Int]): Unit = {
        def byDscp(sa: Int): BigInt = RuleRow.sa.put(blocks(sa)) | RuleRow.byDscp.put(1)
        for ((rule, i) <- InnerSetup.rules.sortBy(_.priority).zipWithIndex if blocks.contains(rule.sa)) {
          assert(rule.action == Action.protect)
          assert(bench.bus.writeRow(InnerTables.rule, i, rule.copy(sa = 0).row | byDscp(rule.sa)))
        }
        for (flow <- InnerSetup.flows if flow.sa == 700) {
          val row = flow.copy(sa = 0).row | byDscp(700)
          assert(bench.bus.writeRow(InnerTables.flow, flow.index((1 << config.flowBits) / 4), row))
        }
      }
      write(blocks)
      val chosen = encrypts.filter(row =>
        row.expected.nonEmpty && row.expected.forall(p => blocks.contains(p.sa) && !p.bypass)
      )
      def ask(packet: LinkPacket): (Int, Int) = (packet.sa, packet.tos >> 2)
      def answer(asked: (Int, Int)): Int = 1000 + 64 * blocks(asked._1) + asked._2
      val missing = (5, 46)
      val asked = chosen.map(row => ask(row.expected.head)).distinct
      assert(asked.contains(missing) && asked.toSet.size >= 5)
      for ((sa, dscp) <- asked if (sa, dscp) != missing) {
        val row = DscpSaRow.valid.put(1) | DscpSaRow.sa.put(answer((sa, dscp)))
        assert(bench.bus.writeRow(InnerTables.dscpSa, 64 * blocks(sa) + dscp, row))
      }
      def send(rows: Seq[Encrypt]): Map[String, BigInt] = {
        val before = bench.counters()
        bench.toLink.clear()
        bench.punts.clear()
        for (row <- rows) bench.receive(row.frame, gap = 1)
        bench.idle(400)
        bench.balanced(before) - "rx_bytes" - "frag_packets" - "frag_split"
      }
      val (without, found) = chosen.partition(row => ask(row.expected.head) == missing)
      val others = encrypts.filter(row =>
        row.expected.nonEmpty && row.counter.startsWith("tx_") && !chosen.contains(row)
      )
      def expected(rows: Seq[Encrypt]) = rows.flatMap(_.expected).map { packet =>
        if (blocks.contains(packet.sa) && !packet.bypass) packet.copy(sa = answer(ask(packet))) else packet
      }
      send(found ++ others)
      expect(sorted(bench.toLink.toSeq), sorted(expected(found ++ others)), "packet")(show)
      assert(bench.punts.isEmpty)
      val punted = send(without)
      assert(punted == Map[String, BigInt]("rx_frames" -> without.size, "punt_policy" -> without.size))
      assert(bench.punts.toSeq == without.map(row => PuntReason.policy -> row.frame) && bench.toLink.isEmpty)
      write(blocks.map { case (sa, block) => sa -> (block + 64) })
      assert(send(found) == Map[String, BigInt]("rx_frames" -> found.size, "punt_policy" -> found.size))
    }
  }

  test("encrypt path: what scapy cut goes on as it is, in any order, by the ports of the first fragment") {
    simulatePaths { (_, bench) =>
      bench.start()
      def send(frames: Seq[Seq[Byte]]): Seq[LinkPacket] = {
        bench.toLink.clear()
        frames.foreach(bench.receive(_))
        bench.idle(400)
        bench.toLink.toSeq
      }
      val cuts = ChipFragments.of("inner")
      // Of each cut: its datagram is tracked until the timeout.
      bench.bus.write(InnerRegs.reasmTimeout, 2)
      def forget(): Unit = bench.idle(4 * config.chip.reassembly.tickCycles)
      for (cut <- cuts) {
        val Seq(whole) = send(Seq(cut.whole))
        val expected = cut.onward.map(onward(_, whole.sa, whole.bypass))
        val count = cut.fragments.size
        for (order <- Seq(cut.fragments, cut.fragments.reverse, cut.fragments.drop(1) :+ cut.fragments.head)) {
          forget()
          val before = bench.counters()
          val got = send(order)
          if (order == cut.fragments) expect(got, expected, cut.name)(show)
          expect(sorted(got), sorted(expected), cut.name)(show)
          val counter = if (whole.bypass) "tx_bypass" else "tx_protect"
          val moved = Map[String, BigInt]("rx_frames" -> count, counter -> count)
          assert(bench.balanced(before) - "rx_bytes" == moved, cut.name)
        }
      }
      assert(bench.punts.isEmpty)

      // What no first fragment follows.
      forget()
      val before = bench.counters()
      val later = cuts.filter(c => Seq("protect", "protect6").contains(c.name)).flatMap(_.fragments.tail)
      assert(send(later).isEmpty)
      forget()
      val dropped = Map[String, BigInt]("rx_frames" -> later.size, "drop_frag_orphan" -> later.size)
      assert(bench.balanced(before) - "rx_bytes" == dropped)
    }
  }

  test("decrypt path: every packet becomes what scapy says, under its own counter") {
    simulatePaths { (dut, bench) =>
      bench.start()
      bench.holdFragments()
      var before = bench.counters()
      for (row <- decrypts) bench.fromLink(row.packet)
      bench.idle(300)
      expect(bench.frames.toSeq, decrypts.flatMap(_.frame), "frame")(hex)
      val punts = bench.punts.toSeq.zip(bench.puntSas.toSeq).map { case ((reason, packet), sa) => (reason, sa, packet) }
      expect(punts, decrypts.flatMap(_.punt), "packet for the CPU") { case (reason, sa, packet) =>
        s"$reason $sa ${hex(packet)}"
      }
      val traffic = Map(
        "link_rx_packets" -> BigInt(decrypts.size),
        "tx_bytes" -> BigInt(decrypts.flatMap(_.frame).map(_.length + 4).sum)
      )
      val moved = count(decrypts.flatMap(_.counters))
      assert(moved("ecn_unexpected") >= 2 * unusedEcn.size)
      assert(bench.balanced(before) == moved ++ traffic)

      // No fragment waits any more.
      before = bench.counters()
      val waiting = moved("inner_frag_held")
      bench.bus.write(InnerRegs.reasmTimeout, 1)
      bench.idle(4 * ReassemblyConfig.small.tickCycles)
      assert(bench.balanced(before) == Map("inner_frag_held" -> -waiting, "drop_selector_mismatch" -> waiting))

      // A row that is written starts its SA anew, under traffic of another SA.
      before = bench.counters()
      bench.frames.clear()
      val one = decrypts.find(_.counter == "tx_frames").get
      assert(bench.bus.writeRow(InnerTables.selector, 5, InnerSetup.selectors(5)))
      for (_ <- 0 until 2) bench.fromLink(one.packet)
      bench.idle(120)
      assert(bench.balanced(before) - "tx_bytes" == Map("link_rx_packets" -> 2, "tx_frames" -> 1, "drop_replayed" -> 1))

      // Writes under traffic at full rate: one packet again and again is good once after each write
      // of its SA's row, and writes of other rows change nothing.
      before = bench.counters()
      val again = one.packet.copy(sa = 7, sequence = 1L << 40)
      val link = dut.io.fromLink
      link.bits.data.poke(Packet.littleEndian(again.bytes))
      link.bits.bytes.poke(again.bytes.length)
      link.bits.meta.sa.poke(again.sa)
      link.bits.meta.sequence.poke(again.sequence)
      link.valid.poke(true)
      for (_ <- 0 until 5; sa <- Seq(7, 5, 8))
        assert(bench.bus.writeRow(InnerTables.selector, sa, InnerSetup.selectors(sa)))
      link.valid.poke(false)
      bench.idle(120)
      val rewritten = bench.balanced(before)
      assert(rewritten("tx_frames") == 6 && rewritten("drop_replayed") == rewritten("link_rx_packets") - 6)

      // A row that says so leaves the window; the window itself is read and preset under the
      // same traffic.
      before = bench.counters()
      val window = InnerTables.replay
      link.valid.poke(true)
      for (_ <- 0 until 3)
        assert(bench.bus.writeRow(
          InnerTables.selector,
          7,
          InnerSetup.selectors(7) | SelectorRow.windowKeep.put(1)
        ))
      val half = bench.bus.readRow(window, 14).get
      assert(ReplayRow.top(half) == again.sequence && ReplayRow.last(half) == again.sequence)
      assert(ReplayRow.received(half) == 1)
      val highest = again.sequence + 1024
      for (index <- Seq(14, 15))
        assert(bench.bus.writeRow(window, index, ReplayRow.top.put(highest) | ReplayRow.last.put(highest)))
      link.valid.poke(false)
      bench.idle(120)
      val preset = bench.balanced(before)
      assert(preset("drop_too_old") > 0 && preset("drop_replayed") > 0)
      assert(preset("drop_too_old") + preset("drop_replayed") == preset("link_rx_packets"))
      assert(!bench.bus.writeRow(window, 2 << config.saBits, 0), "a window row that does not exist")
      assert(bench.bus.writeRow(InnerTables.selector, 7, InnerSetup.selectors(7)))

      // The port switched off; a MAC that pauses loses nothing.
      before = bench.counters()
      bench.bus.write(InnerRegs.control, 0)
      bench.fromLink(one.packet.copy(sequence = 5000))
      bench.idle(120)
      assert(bench.balanced(before) == Map("link_rx_packets" -> 1, "drop_tx_disabled" -> 1))
      bench.bus.write(InnerRegs.control, InnerRegs.Control.txEnable.put(1))
      before = bench.counters()
      bench.frames.clear()
      dut.io.macTx.ready.poke(false)
      for (n <- 0 until 200) bench.fromLink(one.packet.copy(sequence = 6000 + n))
      dut.io.macTx.ready.poke(true)
      bench.idle(400)
      assert(bench.balanced(before)("tx_frames") == 200 && bench.frames.forall(_ == one.frame.get))
    }
  }

  test("rates: 64 B frames every second cycle, 65 to 69 B frames and one SA alone as well") {
    simulatePaths { (_, bench) =>
      bench.start()
      def frame(destination: String, length: Int): Seq[Byte] = {
        // Any row of the table with the right policy and the shortest frame, made longer behind its
        // IP packet.
        val row =
          encrypts.find(r => r.expected.exists(_.bytes.slice(16, 20) == bytes(destination)) && r.frame.length == 60).get
        row.frame.padTo(length, 0.toByte)
      }
      val count = 1500
      for (length <- 60 to 65; (name, destination) <- Seq("protect" -> "0a010009", "bypass" -> "0a020009")) {
        val before = bench.counters()
        bench.linkStarts.clear()
        val one = frame(destination, length)
        val begin = bench.cycle
        for (_ <- 0 until count) bench.receive(one, gap = if (length > 64) 0 else 1)
        bench.idle(200)
        val grown = bench.balanced(before)
        val cycles = pace(bench.linkStarts.toSeq, count)
        info(
          f"encrypt, $name, ${length + 4} B frames: $cycles%.3f cycles a packet, latency ${bench.linkStarts.head - begin} cycles"
        )
        assert(!grown.contains("drop_rx_overflow") && cycles <= 2.001)
      }
      // An ICMP error has two look-ups. A frame of 74 B is the shortest error, and has two beats.
      val error = encrypts.find(_.expected.exists(packet => packet.sa == 704 && packet.bytes.length == 56)).get
      val beforeErrors = bench.counters()
      bench.linkStarts.clear()
      for (_ <- 0 until count) bench.receive(error.frame)
      bench.idle(200)
      val grown = bench.balanced(beforeErrors)
      assert(grown("tx_protect") == count && pace(bench.linkStarts.toSeq, count) <= 2.001)
      val discarded = encrypts.find(r => r.counter == "drop_policy" && r.frame.length == 60).get
      val before = bench.counters()
      for (_ <- 0 until count) bench.receive(discarded.frame, gap = 1)
      bench.idle(200)
      assert(bench.balanced(before) - "rx_bytes" == Map("rx_frames" -> count, "drop_policy" -> count))

      // ICMP errors that are allowed by the packet in them, by an SA's one set and by rules.
      for ((sa, destination) <- Seq(8 -> "0a000001", 1 -> "0a000105")) {
        val row = decrypts.find(r =>
          r.counter == "tx_frames" && r.packet.sa == sa && r.packet.bytes.length == 56 && r.packet.bytes(9) == 1 &&
            r.packet.bytes.slice(16, 20) == bytes(destination)
        ).get
        assert(bench.bus.writeRow(InnerTables.selector, sa, InnerSetup.selectors(sa)))
        val before = bench.counters()
        bench.frameStarts.clear()
        for (n <- 1 to count) bench.fromLink(LinkPacket(row.packet.bytes, sa, sequence = n))
        bench.idle(200)
        assert(bench.balanced(before) - "tx_bytes" == Map("link_rx_packets" -> count, "tx_frames" -> count))
        assert(pace(bench.frameStarts.toSeq, count) <= 2.001)
      }

      // Decrypt: one SA alone, then all in turn; IP packets of 46 B.
      for (sas <- Seq(Seq(7), Seq(5, 6, 7)); length <- Seq(46, 50, 51)) {
        val template =
          decrypts.find(r => r.frame.isDefined && r.packet.bytes.length == 46 && !r.packet.bypass).get.packet
        val packet = template.bytes.padTo(length, 0.toByte)
        for (sa <- sas) assert(bench.bus.writeRow(InnerTables.selector, sa, InnerSetup.selectors(sa)))
        val before = bench.counters()
        bench.frameStarts.clear()
        val begin = bench.cycle
        for (n <- 1 to count) bench.fromLink(LinkPacket(packet, sas(n % sas.size), sequence = n))
        bench.idle(200)
        assert(bench.balanced(before) - "tx_bytes" == Map("link_rx_packets" -> count, "tx_frames" -> count))
        val cycles = pace(bench.frameStarts.toSeq, count)
        info(
          f"decrypt, ${sas.size} SAs, IP packets of $length B: $cycles%.3f cycles a packet, latency ${bench.frameStarts.head - begin} cycles"
        )
        assert(cycles <= 2.001)
      }
    }
  }
}
