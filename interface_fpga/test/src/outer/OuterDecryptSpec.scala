// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{PeerRow, PuntReason, SadRow}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.{CuckooHash, FlippedTernaryTable}
import sallyport.iface.chip.InterfaceConfig
import sallyport.iface.reassembly.ChipFragments

class OuterDecryptSpec extends AnyFunSuite with CompiledOnce {
  private val config = OuterConfig(chip = InterfaceConfig(puntBeats = 256))

  private def frame(name: String): OuterFrame = OuterFrames.named(name)

  test("each frame of scapy's goes where it must, alone, packed, under its own counter, at the rate of the port") {
    simulateShared(config)(new OuterDecryptHarness(config)) { dut =>
      val bench = new OuterDecryptBench(dut, config)
      bench.start()

      // Every frame alone: the counter that it moves.
      for (frame <- OuterFrames.all) {
        val before = bench.counts
        val (links, punts) = (bench.linked.length, bench.punted.length)
        bench.send(frame.bytes)
        for (_ <- 0 until 100 + frame.bytes.length / 16) bench.step()
        val moved = bench.since(before)
        val expected = frame.outcome match {
          case Outcome.Drop(reason) => Map(reason -> 1)
          case _: Outcome.Punt => Map("punted" -> 1)
          case link: Outcome.Link => Map((if (link.bypass) "tx_bypass" else "tx_esp") -> 1)
        }
        assert(moved == expected + ("rx_frames" -> 1), frame.name)
        assert(bench.linked.drop(links) == Seq(frame.outcome).collect { case l: Outcome.Link => l }, frame.name)
        assert(bench.punted.drop(punts) == Seq(frame.outcome).collect { case p: Outcome.Punt => p }, frame.name)
      }

      // All of them without a gap, with the link stalling now and then.
      bench.linked = Vector.empty
      bench.punted = Vector.empty
      val before = bench.counts
      val shuffled = new scala.util.Random(7).shuffle(OuterFrames.all)
      for ((frame, i) <- shuffled.zipWithIndex) {
        dut.io.out.ready.poke(i % 5 != 0)
        bench.send(frame.bytes)
      }
      dut.io.out.ready.poke(true)
      bench.settle()
      bench.settle()
      // A frame may overtake one that may be a fragment.
      def sorted(outcomes: Seq[Outcome]) = outcomes.sortBy(_.toString)
      assert(sorted(bench.linked) == sorted(shuffled.map(_.outcome).collect { case l: Outcome.Link => l }))
      assert(sorted(bench.punted) == sorted(shuffled.map(_.outcome).collect { case p: Outcome.Punt => p }))
      val moved = bench.since(before)
      assert((moved - "rx_frames").values.sum == moved("rx_frames"), moved)

      // Fragments of scapy's, in any order, become what the frame was whole, or go on as they are.
      for (cut <- ChipFragments.of("outer"); order <- Seq(cut.fragments, cut.fragments.reverse)) {
        def send(frames: Seq[Seq[Byte]]): Vector[Outcome.Link] = {
          bench.linked = Vector.empty
          frames.foreach(bench.send(_))
          bench.settle()
          bench.linked
        }
        val whole = send(Seq(cut.whole))
        assert(whole.size == 1, cut.name)
        val before = bench.counts
        val got = send(order)
        val sent =
          if (whole.head.bypass) Map("tx_bypass" -> order.size) else Map("reassembled" -> 1, "tx_esp" -> 1)
        assert(bench.since(before) == sent + ("rx_frames" -> order.size), cut.name)
        if (whole.head.bypass) assert(got.map(_.bytes).toSet == cut.onward.toSet && got.size == order.size, cut.name)
        else assert(got == whole, cut.name)
      }

      // Latency of one frame: last beat in to first beat out.
      for (name <- Seq("rule_bypass_padded", "esp_36", "esp_1464")) {
        bench.linkCycles = Vector.empty
        bench.send(frame(name).bytes)
        val lastIn = bench.cycle - 1
        bench.settle()
        info(
          s"$name: ${bench.linkCycles.head - lastIn} cycles from the last beat of the frame to the first on the way to the link"
        )
      }

      // A packet every 2 cycles, of one beat and of two, in UDP and not.
      for ((name, key) <- Seq("rule_bypass_padded" -> "tx_bypass", "esp_36" -> "tx_esp", "natt_esp_36" -> "tx_esp")) {
        bench.linkCycles = Vector.empty
        val before = bench.counts
        for (_ <- 0 until 200) bench.send(frame(name).bytes, interval = 2)
        bench.settle()
        assert(bench.since(before) == Map("rx_frames" -> 200, key -> 200))
        val span = bench.linkCycles.last - bench.linkCycles.head
        assert(span <= 2 * 199 + 4, s"$name: 199 packets took $span cycles")
      }

      // A dead management CPU costs punted frames alone; those that its queue misses are counted.
      dut.io.punt.ready.poke(false)
      val stalled = bench.counts
      for (_ <- 0 until 300) {
        bench.send(frame("icmp").bytes)
        bench.send(frame("esp_80").bytes)
      }
      bench.settle()
      assert(bench.since(stalled)("tx_esp") == 300)
      dut.io.punt.ready.poke(true)
      bench.settle()
      bench.settle()
      val queue = bench.since(stalled)
      assert(queue("punted") + queue("punt_overflow") == 300 && queue("punt_overflow") >= 100, queue)

      // The link is down; the MAC filter is on; the port is off.
      dut.io.linkUp.poke(false)
      val down = bench.counts
      Seq("esp_80", "rule_bypass", "icmp", "esp_unknown_spi").foreach(name => bench.send(frame(name).bytes))
      bench.settle()
      assert(bench.since(down) == Map("rx_frames" -> 4, "link_down" -> 2, "punted" -> 2))
      dut.io.linkUp.poke(true)

      dut.io.receive.macFilter.poke(true)
      val filtered = bench.counts
      val elsewhere = OuterFrames.bytes("025a00000002") ++ frame("esp_80").bytes.drop(6)
      Seq(elsewhere, frame("esp_80").bytes, frame("arp_broadcast").bytes).foreach(bench.send(_))
      bench.settle()
      assert(bench.since(filtered) == Map("rx_frames" -> 3, "mac_filter" -> 1, "tx_esp" -> 1, "punted" -> 1))
      dut.io.receive.macFilter.poke(false)

      // Without an address of its own the box takes packets for anyone on port 4500, as IKE and
      // ICMP, and ESP.
      dut.io.local.v4.poke(0)
      dut.io.local.v6.poke(0)
      dut.clock.step()
      val anyone = bench.counts
      Seq("natt_elsewhere", "natt_keepalive_elsewhere", "natt_marker_elsewhere", "natt_esp_80", "ipv6_echo_elsewhere")
        .foreach(name => bench.send(frame(name).bytes))
      bench.settle()
      val taken = Map("natt_keepalive" -> 1, "punted" -> 2, "tx_esp" -> 2)
      assert(bench.since(anyone) == taken + ("rx_frames" -> 5))
    }
  }

  test("a bump in the wire finds an SA by SPI and destination, a router by the SPI alone") {
    simulateShared(config)(new OuterDecryptHarness(config)) { dut =>
      val bench = new OuterDecryptBench(dut, config)
      bench.start()
      def sas(frames: String*): Seq[(Int, Boolean)] = {
        bench.linked = Vector.empty
        frames.foreach(name => bench.send(frame(name).bytes))
        bench.settle()
        bench.linked.map(link => link.sa -> link.bypass)
      }
      // To both addresses, in IPv6 and from a host that a rule lets pass.
      val frames = Seq("esp_80", "esp_other_destination", "ipv6_esp_hop_limit_0", "esp_of_hosts_known_spi")
      assert(sas(frames: _*) == Seq(5 -> false, 5 -> false, 3 -> true))

      dut.io.receive.bump.poke(true)
      OuterFrames.bumpRows((1 << config.sadBits) / CuckooHash.ways).foreach((bench.writeSad _).tupled)
      assert(sas(frames: _*) == Seq(11 -> false, 12 -> false, 12 -> false))
    }
  }

  test("a flipped bit of the SAD drops the ESP that it concerns, and no other packet") {
    simulateShared(config)(new OuterDecryptHarness(config)) { dut =>
      val bench = new OuterDecryptBench(dut, config)
      bench.start()
      import bench.outcomes
      val esp = Seq("esp_80", "esp_unknown_spi", "esp_of_hosts_bypass")
      val others = Seq("rule_bypass", "icmp")
      for (name <- esp ++ others) assert(outcomes(name) == Seq(frame(name).outcome), name)

      // Every bit of the row of esp_80, which is in way 0, and some of rows that hold no SA.
      val before = bench.counts
      for (bit <- 0 to SadRow.bits) {
        dut.flips(0).poke(BigInt(1) << bit)
        assert(outcomes("esp_80").isEmpty, s"bit $bit")
      }
      val places = for (way <- 0 until CuckooHash.ways; bit <- Seq(0, 31, 100, 168, 180, 240)) yield way -> bit
      for ((way, bit) <- places) {
        dut.flips.foreach(_.poke(0))
        dut.flips(way).poke(BigInt(1) << bit)
        for (name <- esp.tail) assert(outcomes(name).isEmpty, s"$name, way $way, bit $bit")
        for (name <- others) assert(outcomes(name) == Seq(frame(name).outcome), s"$name, way $way, bit $bit")
        if (way != 0) assert(outcomes("esp_80") == Seq(frame("esp_80").outcome), s"way $way, bit $bit")
      }
      val moved = bench.since(before)
      val drops = SadRow.bits + 1 + places.size * esp.tail.size
      assert(moved("sad_upset") == drops && moved("sad_row_upset") >= drops)
      assert((moved - "rx_frames" - "sad_row_upset").values.sum == moved("rx_frames"))

      dut.flips.foreach(_.poke(0))
      for (name <- esp ++ others) assert(outcomes(name) == Seq(frame(name).outcome), name)
    }
  }

  test("a flipped bit of a rule drops the packets that it decides on, and no ESP of an SA") {
    simulateShared(config)(new OuterDecryptHarness(config)) { dut =>
      val bench = new OuterDecryptBench(dut, config)
      bench.start()
      import bench.outcomes
      val before = bench.counts
      for (bit <- 0 until FlippedTernaryTable.resultBits) {
        dut.ruleFlips.poke(BigInt(1) << bit)
        assert(outcomes("rule_bypass").isEmpty, s"bit $bit")
      }
      for (name <- Seq("esp_80", "icmp")) assert(outcomes(name) == Seq(frame(name).outcome), name)
      val moved = bench.since(before)
      assert(
        moved("policy_upset") == FlippedTernaryTable.resultBits && moved("rule_row_upset") >= moved("policy_upset")
      )
      dut.ruleFlips.poke(0)
      assert(outcomes("rule_bypass") == Seq(frame("rule_bypass").outcome))
    }
  }

  test("a flipped bit of a row of peers makes no packet a peer's, and drops none") {
    simulateShared(config)(new OuterDecryptHarness(config)) { dut =>
      val bench = new OuterDecryptBench(dut, config)
      bench.start()
      import bench.outcomes
      def reason(name: String): Int = outcomes(name) match {
        case Seq(Outcome.Punt(reason, bytes)) if bytes == frame(name).bytes => reason
        case other => fail(s"$name: $other")
      }
      assert(reason("ike") == PuntReason.ike)

      // The peer of this frame is in way 0; a row of another address, or of none, may turn into
      // that of a packet.
      val before = bench.counts
      for (bit <- 0 to PeerRow.bits) {
        dut.peerFlips(0).poke(BigInt(1) << bit)
        assert(reason("ike") == PuntReason.ikeCookie, s"bit $bit")
      }
      val places = for (way <- 0 until CuckooHash.ways; bit <- Seq(0, 31, 100, 128, 132, 133)) yield way -> bit
      for ((way, bit) <- places) {
        dut.peerFlips.foreach(_.poke(0))
        dut.peerFlips(way).poke(BigInt(1) << bit)
        assert(reason("ike_init") == PuntReason.ikeInit, s"way $way, bit $bit")
        for (name <- Seq("esp_80", "icmp", "rule_bypass"))
          assert(outcomes(name) == Seq(frame(name).outcome), s"$name, way $way, bit $bit")
      }
      val moved = bench.since(before)
      assert(moved("peer_row_upset") >= PeerRow.bits + 1 + places.size)
      dut.peerFlips.foreach(_.poke(0))
      assert(reason("ike") == PuntReason.ike)
    }
  }
}
