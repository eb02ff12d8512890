// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Chip, CommonRegs, OuterRegs, OuterTables, PuntReason, TunnelRow}
import sallyport.common.simulation.{CompiledOnce, LongForm}
import sallyport.common.table.CuckooHash
import sallyport.iface.chip.InterfaceConfig
import sallyport.iface.identifiers.IdentifierSource

import scala.util.Random

class OuterCoreSpec extends AnyFunSuite with CompiledOnce with LongForm {
  import OuterCoreBench.Sent

  private val config = OuterConfig(
    saBits = 8,
    sadBits = 10,
    chip = InterfaceConfig(receiveBeats = 256, linkBeats = 256, version = "1.2.3")
  )
  private val random = new Random(4303)

  /** Header rows that fit a few hundred cycles each. */
  private val rows = {
    val short = OuterHeaderRow.all.filter(_.length <= 1500)
    short.filterNot(row => row.encap || row.v6).take(180) ++ short.filter(row => row.encap || row.v6)
  }
  private val tunnel = rows.indexWhere(!_.bypass)

  private def payload(length: Int): Seq[Byte] = {
    val bytes = new Array[Byte](length)
    random.nextBytes(bytes)
    bytes.toSeq
  }

  private def frame(name: String): OuterFrame = OuterFrames.all.find(_.name == name).get

  private val enabled = OuterRegs.Control.rxEnable.put(1) | OuterRegs.Control.txEnable.put(1)

  /** Software's part: identity, tables, addresses; the enables come last. */
  private def configure(bench: OuterCoreBench): Unit = {
    val bus = bench.bus
    assert(bus.read(CommonRegs.magic) == 0x534c5950L)
    assert(bus.read(CommonRegs.chip) == Chip.outer)
    assert(bus.read(CommonRegs.version) == 0x010203)
    assert(bus.read(CommonRegs.capabilitySaBits) == config.saBits)
    assert(bus.read(CommonRegs.capabilitySadBits) == config.sadBits)
    assert(bus.read(CommonRegs.capabilityPeerBits) == config.peerBits)
    assert(bus.read(CommonRegs.capabilityLinkBufferBeats) == config.chip.linkBeats)
    assert(bus.read(OuterRegs.portMtu) == 9582)

    for ((index, row) <- OuterFrames.sadRows((1 << config.sadBits) / CuckooHash.ways))
      assert(bus.writeRow(OuterTables.sad, index, row))
    for ((index, row) <- OuterFrames.peerRows((1 << config.peerBits) / CuckooHash.ways))
      assert(bus.writeRow(OuterTables.peer, index, row))
    for ((index, row) <- OuterFrames.ruleRows) assert(bus.writeRow(OuterTables.rule, index, row))
    for ((row, i) <- rows.zipWithIndex) {
      assert(bus.writeRow(OuterTables.nextHop, i, row.nextHopRow))
      if (!row.bypass) assert(bus.writeRow(OuterTables.tunnel, i, row.tunnelRow(nextHop = i)))
    }
    for (i <- Seq(tunnel, rows.size - 1))
      assert(bus.readRow(OuterTables.tunnel, i, (TunnelRow.bits + 31) / 32).contains(rows(i).tunnelRow(nextHop = i)))
    assert(!bus.writeRow(OuterTables.tunnel, 1 << config.saBits, 1), "a row beyond the table")
    bus.write(OuterRegs.portMacLo, OuterFrames.portMac & 0xffffffffL)
    bus.write(OuterRegs.portMacHi, OuterFrames.portMac >> 32)
    bus.write(OuterRegs.localIpv4, OuterFrames.localIpv4)
    val localIpv6 = Seq(OuterRegs.localIpv60, OuterRegs.localIpv61, OuterRegs.localIpv62, OuterRegs.localIpv63)
    for ((register, n) <- localIpv6.zipWithIndex) bus.write(register, OuterFrames.localIpv6 >> 32 * n & 0xffffffffL)
  }

  /** Writes a key of identifications. */
  private def seed(bench: OuterCoreBench): Unit = {
    import OuterRegs.IdentifierSeed.{first, load, word}
    for (n <- 0 until IdentifierSource.seedWords) {
      assert(bench.bus.read(OuterRegs.identifiers) == 0, s"a key of $n words")
      val begins = if (n == 0) first.put(1) else BigInt(0)
      bench.bus.write(OuterRegs.identifierSeed, word.put(1000 + n) | begins | load.put(1))
    }
    bench.bus.write(OuterRegs.identifierSeed, 0)
    assert(bench.bus.read(OuterRegs.identifierSeed) == 0, "a part of the key stays in the register")
    bench.run(100)
    assert(bench.bus.read(OuterRegs.identifiers) == OuterRegs.Identifiers.seeded.put(1))
  }

  /** What the counters say of `frames`. */
  private def counts(frames: Seq[OuterFrame]): Map[String, BigInt] = {
    val reasons = Map(
      PuntReason.arp -> "arp",
      PuntReason.linkLocal -> "link_local",
      PuntReason.vlan -> "vlan",
      PuntReason.fragment -> "fragment",
      PuntReason.ike -> "ike",
      PuntReason.ikeCookie -> "ike_cookie",
      PuntReason.ikeInit -> "ike_init",
      PuntReason.icmp -> "icmp",
      PuntReason.other -> "other",
      PuntReason.extensionHeaders -> "extension_headers",
      PuntReason.policy -> "policy",
      PuntReason.unknownSpi -> "unknown_spi",
      PuntReason.nd -> "nd",
      PuntReason.resolution -> "resolution",
      PuntReason.reasm -> "reasm"
    )
    val outcomes = frames.map(_.outcome).map {
      case Outcome.Drop(reason) => s"drop_$reason"
      case Outcome.Punt(reason, _) => s"punt_${reasons(reason)}"
      case link: Outcome.Link => if (link.bypass) "tx_bypass" else "tx_esp"
    }
    outcomes.groupBy(identity).map { case (name, all) => name -> BigInt(all.size) } ++
      Map[String, BigInt]("rx_frames" -> frames.size, "rx_bytes" -> frames.map(_.bytes.length + 4).sum)
  }

  test("software brings the chip up; both directions at once; every packet is accounted for") {
    simulate(new OuterCoreHarness(config)) { dut =>
      val bench = new OuterCoreBench(dut)
      bench.start()
      val none = bench.counters()
      assert(none.values.forall(_ == 0))

      // Nothing passes before software says so.
      configure(bench)
      bench.receive(frame("esp_80").bytes)
      bench.send(Sent(payload(80), tunnel))
      bench.drain()
      assert(bench.linked.isEmpty && bench.frames.isEmpty)
      val quiet =
        Map[String, BigInt]("rx_frames" -> 1, "rx_bytes" -> 118, "drop_not_ready" -> 1, "link_rx_packets" -> 1)
      assert(bench.balanced(none) == quiet + ("drop_tx_disabled" -> BigInt(1)))
      bench.bus.write(OuterRegs.control, enabled)

      // Without a key there are no identifications, and no ESP.
      var before = bench.counters()
      assert(bench.bus.read(OuterRegs.identifiers) == 0)
      bench.send(Sent(payload(80), tunnel))
      bench.drain()
      assert(bench.balanced(before) == Map("link_rx_packets" -> 1, "drop_no_identifier" -> 1))
      seed(bench)

      // All frames in, all headers out, at once.
      before = bench.counters()
      val frames = random.shuffle(OuterFrames.all)
      frames.foreach(f => bench.receive(f.bytes, interval = random.nextInt(8)))
      val sent = rows.zipWithIndex.map { case (row, i) =>
        val bytes = if (row.summed) OuterHeaderRow.pattern(row.length) else payload(row.length)
        Sent(bytes, i, row.bypass, row.tos, row.df, row.nextHeader)
      }
      sent.foreach(bench.send)
      bench.drain(1000)
      // A frame may overtake one that may be a fragment.
      def sorted(outcomes: Seq[Outcome]) = outcomes.sortBy(_.toString)
      assert(sorted(bench.linked.toSeq) == sorted(frames.map(_.outcome).collect { case l: Outcome.Link => l }))
      assert(sorted(bench.punted.toSeq) == sorted(frames.map(_.outcome).collect { case p: Outcome.Punt => p }))
      assert(bench.frames.size == sent.size)
      val expected = bench.frames.toSeq.zip(sent).zip(rows).map { case ((got, packet), row) =>
        (row.as(got) ++ packet.payload).padTo(60, 0.toByte)
      }
      for (((got, want), i) <- bench.frames.zip(expected).zipWithIndex) assert(got == want, s"row $i")
      val encrypted = Map[String, BigInt](
        "link_rx_packets" -> sent.size,
        "tx_frames" -> sent.size,
        "tx_bytes" -> expected.map(_.length + 4).sum
      )
      assert(bench.balanced(before) == counts(frames) ++ encrypted)

      // What the port refuses, and what the encrypt path refuses, among good packets.
      before = bench.counters()
      bench.clear()
      val good = frame("esp_80")
      for (bad <- Seq(payload(59), payload(9597))) {
        bench.receive(good.bytes)
        bench.receive(bad)
        bench.receive(good.bytes, error = true)
      }
      val refused = Seq(
        Sent(payload(80), 255),
        Sent(payload(80), 256),
        Sent(payload(80), 250, bypass = true),
        Sent(payload(9563), tunnel, df = true),
        Sent(payload(9563), tunnel),
        Sent(payload(80), tunnel)
      )
      refused.foreach(bench.send)
      // the link takes 230 cycles for a long packet, and the port one more time as many
      bench.drain(settle = 1500)
      assert(bench.linked.toSeq == Seq.fill(2)(good.outcome))
      // One packet too long in two fragments.
      assert(bench.frames.map(_.length) == Seq(9594, 60, 114))
      val named = Map[String, BigInt](
        "rx_frames" -> 6,
        "drop_rx_undersize" -> 1,
        "drop_rx_oversize" -> 1,
        "drop_rx_bad_fcs" -> 2,
        "tx_esp" -> 2
      ) ++
        Map[String, BigInt](
          "link_rx_packets" -> 6,
          "drop_no_tunnel" -> 2,
          "punt_clear_route" -> 1,
          "drop_mtu" -> 1,
          "frag_packets" -> 1,
          "frag_split" -> 1,
          "tx_frames" -> 3,
          "tx_bytes" -> (9598 + 64 + 118)
        )
      assert(bench.balanced(before) - "rx_bytes" == named)

      // A row rewritten under traffic: each frame has the old address or the new one.
      bench.clear()
      for (_ <- 0 until 300) bench.send(Sent(payload(80), tunnel))
      val moved = rows(tunnel).copy(destination = BigInt("0a090807", 16))
      for (_ <- 0 until 200) bench.step()
      while (bench.frames.size < 100) bench.step()
      assert(bench.bus.writeRow(OuterTables.tunnel, tunnel, moved.tunnelRow(nextHop = tunnel)))
      bench.drain()
      // The bench does not look while the bus works, so some frames are not seen, or not whole.
      val addresses = bench.frames.filter(_.size == 114).map(_.slice(30, 34)).distinct
      assert(addresses.size == 2 && addresses.last == OuterFrames.bytes("0a090807"))

      // Lanes down and up again: drops by name meanwhile, and the same traffic afterwards.
      before = bench.counters()
      bench.clear()
      dut.io.laneUp.poke(false)
      bench.run(10)
      bench.receive(good.bytes)
      bench.receive(frame("icmp").bytes)
      bench.drain()
      assert(bench.balanced(before) - "rx_bytes" == Map("rx_frames" -> 2, "drop_link_down" -> 1, "punt_icmp" -> 1))
      dut.io.laneUp.poke(true)
      bench.run(600)
      before = bench.counters()
      bench.receive(good.bytes)
      bench.send(Sent(payload(80), tunnel))
      bench.drain()
      assert(bench.linked.toSeq == Seq(good.outcome) && bench.frames.size == 1)
      assert(bench.balanced(before)("tx_esp") == 1)

      // A frame of the CPU that is to go by policies does not leave where none judges it.
      before = bench.counters()
      bench.clear()
      val own = payload(60)
      for (encrypt <- Seq(true, false)) bench.inject(own, encrypt)
      bench.drain()
      assert(bench.frames.toSeq == Seq(own))
      val injected = Map[String, BigInt]("inject_frames" -> 2, "drop_inject_length" -> 1, "tx_frames" -> 1)
      assert(bench.balanced(before) - "tx_bytes" == injected)

      rates(dut, bench)
    }
  }

  private def rates(dut: OuterCoreHarness, bench: OuterCoreBench): Unit = {
    for (name <- Seq("rule_bypass_padded", "esp_36", "esp_80", "esp_1464")) {
      bench.clear()
      bench.receive(frame(name).bytes)
      bench.drain(0)
      val lastIn = bench.cycle - 1
      bench.run(400)
      info(
        s"$name: ${bench.wordsOut.head - lastIn} cycles from the last beat of the frame to the first word on the link"
      )
    }
    for (length <- Seq(46, 80, 1464)) {
      bench.clear()
      bench.send(Sent(payload(length), tunnel, bypass = length == 46))
      bench.drain(400)
      info(
        s"packet of $length B: ${bench.frameStarts.head - bench.wordsIn.head} cycles from its first word on the link to the frame"
      )
    }

    // Encrypt: as fast as the wire takes 114 B frames (118 B and preamble, gap: 3.3 cycles).
    bench.clear()
    for (_ <- 0 until 300) bench.send(Sent(payload(80), tunnel))
    bench.drain()
    val out = (bench.frameStarts.last - bench.frameStarts(20)) / (bench.frameStarts.size - 21.0)
    info(f"encrypt: a 114 B frame every $out%.2f cycles")
    assert(bench.frameStarts.size == 300 && out <= (118 + 20) * 8 * 0.003)

    // Decrypt: a frame every 2 cycles, of one beat and of two.
    for (name <- Seq("rule_bypass_padded", "esp_36")) {
      bench.clear()
      val before = bench.counters()
      for (_ <- 0 until 300) bench.receive(frame(name).bytes, interval = 2)
      bench.drain()
      assert(bench.linked.size == 300 && bench.linked.forall(_ == frame(name).outcome))
      assert(!bench.balanced(before).contains("drop_rx_overflow"))
      val interval = (bench.linkStarts.last - bench.linkStarts.head) / 299.0
      info(f"decrypt, $name: a packet every $interval%.2f cycles")
      assert(interval <= 2.05)
    }
  }
}
