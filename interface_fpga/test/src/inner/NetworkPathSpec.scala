// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.InnerRegs.{HostControl, HostEvent}
import sallyport.common.registers.map._
import sallyport.common.table.CuckooHash
import sallyport.iface.prefixes.{PrefixImage, PrefixRows, TestPrefix}

/** Networks that have the same addresses, and share nothing. */
class NetworkPathSpec extends AnyFunSuite with InnerPathsModel {
  private val plain = encrypts.find(_.expected.exists(_.sa == 5)).get.frame
  private def number(address: String): BigInt = InnerSetup.address(address)
  private def octets(address: String): Seq[Int] = address.split('.').toSeq.map(_.toInt)

  /** UDP from port 7 to 8. */
  private def frame(from: String, to: String): Seq[Byte] =
    (plain.take(14) ++ Packet4.between(plain.slice(14, 42), octets(from), octets(to))).padTo(60, 0.toByte)

  /** With VLAN tags, the outer one first. */
  private def tagged(frame: Seq[Byte], vlans: Int*): Seq[Byte] =
    frame.take(12) ++ vlans.flatMap(vlan => Seq(0x81, 0, vlan >> 8, vlan).map(_.toByte)) ++ frame.drop(12)

  /** "Port unreachable" about a UDP packet from the error's destination. */
  private def error(from: String, to: String, about: String): Seq[Byte] = {
    val embedded = Packet4.between(plain.slice(14, 42), octets(to), octets(about))
    val message = Seq(3, 3, 0, 0, 0, 0, 0, 0).map(_.toByte) ++ embedded
    plain.take(14) ++ Packet4.between(plain.slice(14, 34).updated(9, 1.toByte) ++ message, octets(from), octets(to))
  }

  /** A fragment of 24 bytes of a datagram of UDP to a port; the first has the UDP header. */
  private def fragment(to: String, port: Int, first: Boolean): Seq[Byte] = {
    val udp = Seq(0, 7, port >> 8, port & 0xff, 0, 48, 0, 0).map(_.toByte)
    val payload = if (first) udp ++ Seq.fill(16)(1.toByte) else Seq.fill(24)(2.toByte)
    val flags = if (first) Seq(0x20, 0) else Seq(0, 3)
    val header = plain.slice(14, 34).patch(4, Seq(0x12, 0x34).map(_.toByte), 2).patch(6, flags.map(_.toByte), 2)
    (plain.take(14) ++ Packet4.between(header ++ payload, octets("10.0.0.1"), octets(to))).padTo(60, 0.toByte)
  }

  private val (one, two) = (1, 63)
  private val vlans = Map(7 -> one, 4095 -> two)

  private def start(bench: InnerBench): Unit = {
    bench.start()
    for ((vlan, network) <- vlans)
      write(bench, InnerTables.network, vlan, NetworkRow.valid.put(1) | NetworkRow.network.put(network))
  }
  private def write(bench: InnerBench, table: Int, index: Int, row: BigInt): Unit =
    assert(bench.bus.writeRow(table, index, row), s"row $index of table $table")

  /** Rows behind those of [[InnerSetup]]. */
  private def addRules(bench: InnerBench, table: Int, before: Int, rows: Seq[BigInt]): Unit =
    for ((row, n) <- rows.zipWithIndex) write(bench, table, before + n, row)
  private def of(network: Int): BigInt = RuleRow.network.put(network) | RuleRow.networkMask.put(63)
  private def rule(to: String, bits: Int, sa: Int, action: Int = Action.protect): BigInt =
    InnerSetup.Rule(to, bits, action, sa, 100).row

  private def sent(bench: InnerBench, frame: Seq[Byte]): Option[Int] = {
    bench.toLink.clear()
    bench.receive(frame, gap = 100)
    bench.toLink.map(_.sa).headOption
  }

  /** Trees of the same addresses: those of `image` for IPv4 and IPv6 are IPv4's of two networks. */
  private def load(bench: InnerBench, image: PrefixRows, policies: Boolean): Unit = {
    for ((index, row) <- image.nodes) write(bench, InnerTables.prefix, index, row)
    for ((index, row) <- image.children) write(bench, InnerTables.prefixChild, index, row)
    val tree = if (policies) 2 else 0
    for ((network, n) <- Seq(one, two).zipWithIndex)
      write(bench, InnerTables.prefixRoot, 4 * network + tree, image.roots.toMap.apply(tree + n))
  }

  test("the outer VLAN tag chooses rule, flow and entry by prefixes") {
    simulatePaths { (_, bench) =>
      start(bench)
      val rules = Seq(0, one, two).map(network => rule("10.60.0.0", 16, 800 + network) | of(network))
      addRules(bench, InnerTables.rule, InnerSetup.rules.length, rules)
      val perWay = (1 << config.flowBits) / CuckooHash.ways
      for (network <- Seq(one, two)) {
        val flow = InnerSetup.Flow("10.0.0.1", "10.61.0.1", 17, 7, 8, 900 + network, 1).row |
          FlowRow.network.put(network)
        val row = CuckooHash.row(2, flow & ((BigInt(1) << 310) - 1), 310, perWay)
        write(bench, InnerTables.flow, 2 * perWay + row, flow)
      }
      for ((network, n) <- Seq(one, two).zipWithIndex)
        write(
          bench,
          InnerTables.prefixPolicy,
          1 + n,
          PrefixPolicyRow.valid.put(1) | PrefixPolicyRow.action.put(Action.protect) |
            PrefixPolicyRow.sa.put(1000 + network) | PrefixPolicyRow.srcPrefix.put(number("10.0.0.0") << 32) |
            PrefixPolicyRow.srcLength.put(8)
        )
      val places = Seq(1, 2).map(n => TestPrefix(v6 = n == 2, number("10.62.0.0") << 32, 16, n))
      load(bench, PrefixImage.rows(Nil, policies = places), policies = true)

      for (
        (tags, network) <- Seq(Seq() -> 0, Seq(7) -> one, Seq(4095) -> two, Seq(6) -> 0, Seq(0) -> 0) ++
          Seq(Seq(7, 4095) -> one, Seq(4095, 7) -> two, Seq(6, 7) -> 0, Seq(0xe007) -> one)
      ) {
        val is = (base: Int) => if (network == 0) None else Some(base + network)
        assert(sent(bench, tagged(frame("10.0.0.1", "10.60.0.1"), tags: _*)).contains(800 + network), s"rule, $tags")
        assert(sent(bench, tagged(frame("10.0.0.1", "10.61.0.1"), tags: _*)) == is(900), s"flow, $tags")
        assert(sent(bench, tagged(frame("10.0.0.1", "10.62.0.1"), tags: _*)) == is(1000), s"prefix, $tags")
        // The return traffic of the packet in an ICMP error is of the error's network.
        val about = tagged(error("192.0.2.9", "10.62.0.1", about = "10.0.0.44"), tags: _*)
        assert(sent(bench, about) == is(1000), s"error, $tags")
        val ofFlow = tagged(error("192.0.2.9", "10.61.0.1", about = "10.0.0.1"), tags: _*)
        assert(sent(bench, ofFlow).isEmpty, s"error about other ports, $tags")
      }
    }
  }

  test("frames of two networks in turn, back to back, each keep their own") {
    simulatePaths { (_, bench) =>
      start(bench)
      val rules = Seq(0, one, two).map(network => rule("10.60.0.0", 16, 800 + network) | of(network))
      addRules(bench, InnerTables.rule, InnerSetup.rules.length, rules)
      val frames = Seq.tabulate(120)(n => Seq(Seq(), Seq(7), Seq(4095))(n * n % 3))
      bench.toLink.clear()
      for (tags <- frames) bench.receive(tagged(frame("10.0.0.1", "10.60.0.1"), tags: _*), gap = 1)
      bench.idle(200)
      assert(bench.toLink.map(_.sa) == frames.map(tags => 800 + tags.headOption.fold(0)(vlans)))
    }
  }

  test("the box's addresses are those of network 0") {
    simulatePaths { (_, bench) =>
      start(bench)
      val own = InnerSetup.local
      val rules = Seq(
        rule(own, 32, 0, Action.punt) | of(two),
        rule(own, 32, 801) | of(one),
        rule("10.60.0.0", 16, 801) | of(one)
      )
      addRules(bench, InnerTables.rule, InnerSetup.rules.length, rules)
      val before = bench.counters()
      assert(sent(bench, frame("10.0.0.1", own)).isEmpty)
      assert(sent(bench, tagged(frame("10.0.0.1", own), 7)).contains(801))
      assert(sent(bench, tagged(frame("10.0.0.1", own), 4095)).isEmpty)
      assert(sent(bench, frame(own, "10.60.0.1")).isEmpty)
      assert(sent(bench, tagged(frame(own, "10.60.0.1"), 7)).contains(801))
      val moved = bench.balanced(before) - "rx_bytes"
      val expected = Map[String, BigInt](
        "rx_frames" -> 5,
        "tx_protect" -> 2,
        "punt_local" -> 1,
        "punt_policy" -> 1,
        "drop_own_source" -> 1
      )
      assert(moved == expected)
      assert(bench.punts.map(_._1).zip(bench.puntNetworks) == Seq(PuntReason.local -> 0, PuntReason.policy -> two))
    }
  }

  test("fragments of two networks with equal addresses and identifications do not mix") {
    simulatePaths { (_, bench) =>
      start(bench)
      val rules = Seq(5000 -> one, 6000 -> two).map { case (port, network) =>
        InnerSetup.Rule("10.63.0.0", 16, Action.protect, 800 + network, 100, protocol = 17, port = port).row |
          of(network)
      }
      addRules(bench, InnerTables.rule, InnerSetup.rules.length, rules)
      val before = bench.counters()
      bench.toLink.clear()
      // The later one of VLAN 4095 comes first, and waits for the first one of its own VLAN.
      bench.receive(tagged(fragment("10.63.0.1", 0, first = false), 4095), gap = 200)
      bench.receive(tagged(fragment("10.63.0.1", 5000, first = true), 7), gap = 200)
      assert(bench.toLink.map(_.sa) == Seq(800 + one))
      bench.receive(tagged(fragment("10.63.0.1", 6000, first = true), 4095), gap = 300)
      assert(bench.toLink.map(_.sa) == Seq(800 + one, 800 + two, 800 + two))
      bench.receive(tagged(fragment("10.63.0.1", 0, first = false), 7), gap = 200)
      assert(bench.toLink.map(_.sa).last == 800 + one)
      assert(bench.balanced(before) - "rx_bytes" == Map[String, BigInt]("rx_frames" -> 4, "tx_protect" -> 4))
    }
  }

  test("no policy takes frames of a VLAN that is blocked, with any number and in any policy table") {
    simulatePaths { (_, bench) =>
      start(bench)
      val rules = Seq(0, one, two).map(network => rule("10.60.0.0", 16, 800 + network, Action.bypass) | of(network))
      addRules(
        bench,
        InnerTables.rule,
        InnerSetup.rules.length,
        rules :+ (rule("10.61.0.0", 16, 0, Action.punt) | of(two))
      )
      def of63(to: String): Seq[Byte] = tagged(frame("10.0.0.1", to), 4095)
      assert(sent(bench, of63("10.60.0.1")).contains(800 + two))
      for (number <- Seq(0, one, two); valid <- Seq(0, 1)) {
        val row = NetworkRow.blocked.put(1) | NetworkRow.valid.put(valid) | NetworkRow.network.put(number)
        write(bench, InnerTables.network, 4095, row)
        val before = bench.counters()
        bench.receive(of63("10.61.0.1"), gap = 100)
        assert(sent(bench, of63("10.60.0.1")).isEmpty)
        assert(sent(bench, tagged(frame("10.0.0.1", "10.60.0.1"), 7)).contains(800 + one))
        val expected = Map[String, BigInt]("rx_frames" -> 3, "drop_policy" -> 2, "tx_bypass" -> 1)
        assert(bench.balanced(before) - "rx_bytes" == expected)
      }
    }
  }

  test("a flipped bit of a network's row drops the packet by name") {
    simulatePaths { (dut, bench) =>
      start(bench)
      addRules(bench, InnerTables.rule, InnerSetup.rules.length, Seq(rule("10.60.0.0", 16, 801) | of(one)))
      val to = tagged(frame("10.0.0.1", "10.60.0.1"), 7)
      assert(sent(bench, to).contains(801))
      val before = bench.counters()
      for (bit <- 0 to NetworkRow.bits) {
        dut.networkFlips.poke(BigInt(1) << bit)
        assert(sent(bench, to).isEmpty, s"bit $bit")
        assert(sent(bench, tagged(frame("10.0.0.1", InnerSetup.local), 7)).isEmpty, s"bit $bit")
      }
      dut.networkFlips.poke(0)
      assert(sent(bench, to).contains(801))
      val drops = BigInt(2 * (NetworkRow.bits + 1))
      val expected = Map[String, BigInt](
        "rx_frames" -> (drops + 1),
        "tx_protect" -> 1,
        "drop_policy_upset" -> drops,
        "network_row_upset" -> drops
      )
      assert(bench.balanced(before) - "rx_bytes" == expected)
    }
  }

  private val good = decrypts.find(row => row.counter == "tx_frames" && row.packet.sa == 6).get.packet
  private def packet(sa: Int, from: String, to: String): LinkPacket =
    good.copy(bytes = Packet4.between(good.bytes.take(48), octets(from), octets(to)), sa = sa)

  private def selector(network: Int, nextHop: Int = 0): BigInt = SelectorRow.valid.put(1) |
    SelectorRow.srcPortLast.put(65535) | SelectorRow.dstPortLast.put(65535) | SelectorRow.windowSize.put(64) |
    SelectorRow.nextHop.put(nextHop) | SelectorRow.network.put(network)

  private def host(bench: InnerBench, network: Int, address: String, mac: String): Unit = {
    val key = HostRow.addr.put(number(address)) | HostRow.version.put(4) | HostRow.network.put(network)
    val perWay = (1 << config.hostBits) / CuckooHash.ways
    val way = if (network == one) 1 else 3
    val row = CuckooHash.row(way, key, HostRow.network.msb + 1, perWay)
    write(
      bench,
      InnerTables.host,
      way * perWay + row,
      key | HostRow.valid.put(1) | HostRow.mac.put(InnerSetup.mac(mac))
    )
  }

  /** Destination address of the frame that a packet becomes. */
  private def station(bench: InnerBench, packet: LinkPacket): Option[String] = {
    bench.frames.clear()
    bench.fromLink(packet)
    bench.idle(120)
    bench.frames.headOption.map(frame => hex(frame.take(6)))
  }

  test("the SA's network chooses host and route, and never the station of row 0") {
    simulatePaths { (_, bench) =>
      start(bench)
      for ((sa, network) <- Seq(4 -> one, 9 -> two)) write(bench, InnerTables.selector, sa, selector(network))
      write(bench, InnerTables.selector, 15, selector(one, nextHop = 7))
      val own = InnerSetup.local
      val near = "198.51.100.77"
      host(bench, one, "10.0.0.1", "02bb00000001")
      host(bench, two, "10.0.0.1", "02bb00000002")
      host(bench, one, own, "02bb00000003")
      val before = bench.counters()
      assert(station(bench, packet(4, "10.9.0.1", "10.0.0.1")).contains("02bb00000001"))
      assert(station(bench, packet(9, "10.9.0.1", "10.0.0.1")).contains("02bb00000002"))
      assert(station(bench, packet(6, "10.9.0.1", "10.0.0.1")).contains("02aa00000000"), "row 0 of network 0")
      assert(station(bench, packet(4, "10.9.0.1", own)).contains("02bb00000003"))
      assert(station(bench, packet(4, own, "10.0.0.1")).contains("02bb00000001"))
      for (to <- Seq("10.0.0.2", near)) {
        assert(station(bench, packet(4, "10.9.0.1", to)).isEmpty, s"row 0 is not for $to")
        assert(station(bench, packet(15, "10.9.0.1", to)).contains("02aa00000007"), s"the named station of $to")
      }
      assert(station(bench, packet(9, "10.9.0.1", own)).isEmpty)
      val first = bench.balanced(before)
      assert(first("punt_tunnel_route") == 3 && !first.contains("punt_tunnel") && first("tx_frames") == 7)
      assert(bench.puntNetworks == Seq(one, one, two))

      // Routes: behind gateways, and a subnet whose hosts are not known.
      val routes = Seq(
        TestPrefix(v6 = false, number("10.50.0.0") << 32, 16, 1),
        TestPrefix(v6 = false, number("10.0.0.0") << 32, 24, 3),
        TestPrefix(v6 = true, number("10.50.0.0") << 32, 16, 2),
        TestPrefix(v6 = true, number("10.0.0.0") << 32, 24, 3)
      )
      load(bench, PrefixImage.rows(routes), policies = false)
      for (hop <- Seq(1, 2)) {
        val row = NextHopRow.valid.put(1) | NextHopRow.mac.put(InnerSetup.mac(s"02dd0000000$hop"))
        write(bench, InnerTables.nextHop, 20 + hop, row)
        write(bench, InnerTables.hopGroup, hop, HopGroupRow.valid.put(1) | HopGroupRow.hop0.put(20 + hop))
      }
      write(bench, InnerTables.hopGroup, 3, HopGroupRow.valid.put(1) | HopGroupRow.connected.put(1))
      assert(station(bench, packet(4, "10.9.0.1", "10.50.0.1")).contains("02dd00000001"))
      assert(station(bench, packet(9, "10.9.0.1", "10.50.0.1")).contains("02dd00000002"))
      assert(station(bench, packet(6, "10.9.0.1", "10.50.0.1")).contains("02aa00000000"))
      assert(station(bench, packet(4, "10.9.0.1", "10.0.0.1")).contains("02bb00000001"))
      assert(station(bench, packet(4, "10.9.0.1", "10.0.0.7")).isEmpty)
      assert(station(bench, packet(9, "10.9.0.1", "10.0.0.7")).isEmpty)
      val events = Seq.fill(2) {
        val value = bench.bus.read(InnerRegs.hostEvent)
        val address = bench.bus.read(InnerRegs.hostAddr0)
        bench.bus.write(InnerRegs.hostControl, HostControl.pop.put(1))
        (HostEvent.valid(value).toInt, HostEvent.network(value).toInt, address)
      }
      assert(events == Seq(one, two).map(network => (1, network, number("10.0.0.7"))))
      assert(bench.balanced(before)("punt_tunnel_host") == 2)
    }
  }

  test("an inbound rule of one network does not decide on packets of another") {
    simulatePaths { (_, bench) =>
      start(bench)
      val byRules = SelectorRow.byRules.put(1) | SelectorRow.group.put(90)
      for ((sa, network) <- Seq(4 -> one, 9 -> two))
        write(bench, InnerTables.selector, sa, selector(network, nextHop = 7) | byRules)
      val rules = Seq(
        rule("172.20.0.0", 16, 91) | of(two),
        rule("172.20.0.0", 16, 90),
        rule("172.21.0.0", 16, 0, Action.bypass) | of(0)
      )
      addRules(bench, InnerTables.inboundRule, InnerSetup.inboundRules.length, rules)
      val before = bench.counters()
      assert(station(bench, packet(4, "10.9.0.1", "172.20.0.1")).contains("02aa00000007"))
      assert(station(bench, packet(9, "10.9.0.1", "172.20.0.1")).isEmpty)
      assert(station(bench, packet(7, "10.9.0.1", "172.21.0.1").copy(bypass = true)).contains("02aa00000007"))
      assert(bench.balanced(before)("drop_selector_mismatch") == 1)
    }
  }
}
