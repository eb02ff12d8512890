// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map._

/** Packets out of one tunnel for another one, as the hub of a star has them. */
class HairpinPathSpec extends AnyFunSuite with InnerPathsModel {
  private val good = decrypts.find(row => row.counter == "tx_frames" && row.packet.sa == 6).get.packet
  private def octets(address: String): Seq[Int] = address.split('.').toSeq.map(_.toInt)
  private val from = "10.9.0.1"

  /** UDP from port 7 to 8, of so many bytes in all. */
  private def packet(to: String, sa: Int = 4, bytes: Int = 48): LinkPacket =
    good.copy(bytes = Packet4.between(good.bytes.take(48).padTo(bytes, 0.toByte), octets(from), octets(to)), sa = sa)

  /** The same behind one more hop (RFC 1812 5.3.1). */
  private def passed(packet: LinkPacket): Seq[Byte] = {
    val header = packet.bytes.updated(8, (packet.bytes(8) - 1).toByte)
    Packet4.between(header, octets(from), header.slice(16, 20).map(_ & 0xff))
  }

  /** A fragment of 24 bytes of a datagram of UDP to a port; the first has the UDP header. */
  private def fragment(to: String, port: Int, first: Boolean): LinkPacket = {
    val udp = Seq(0, 7, port >> 8, port & 0xff, 0, 48, 0, 0).map(_.toByte)
    val payload = if (first) udp ++ Seq.fill(16)(1.toByte) else Seq.fill(24)(2.toByte)
    val flags = if (first) Seq(0x20, 0) else Seq(0, 3)
    val header = good.bytes.take(20).patch(4, Seq(0x12, 0x34).map(_.toByte), 2).patch(6, flags.map(_.toByte), 2)
    good.copy(bytes = Packet4.between(header ++ payload, octets(from), octets(to)), sa = 4)
  }

  private val hairpin = 9
  private val (one, two) = (1, 62)

  private def write(bench: InnerBench, table: Int, index: Int, row: BigInt): Unit =
    assert(bench.bus.writeRow(table, index, row), s"row $index of table $table")

  /** SA 4 is of network 0, 9 of network one and 15 of network two; all lead to other tunnels. */
  private def start(bench: InnerBench, rules: BigInt*): Unit = {
    bench.start()
    write(bench, InnerTables.nextHop, hairpin, NextHopRow.valid.put(1) | NextHopRow.hairpin.put(1))
    for ((sa, network) <- Seq(4 -> 0, 9 -> one, 15 -> two)) {
      val row = SelectorRow.valid.put(1) | SelectorRow.srcPortLast.put(65535) | SelectorRow.dstPortLast.put(65535) |
        SelectorRow.windowSize.put(64) | SelectorRow.nextHop.put(hairpin) | SelectorRow.network.put(network)
      write(bench, InnerTables.selector, sa, row)
    }
    for ((row, n) <- rules.zipWithIndex) write(bench, InnerTables.rule, InnerSetup.rules.length + n, row)
  }
  private def of(network: Int): BigInt = RuleRow.network.put(network) | RuleRow.networkMask.put(63)
  private def rule(to: String, sa: Int, action: Int = Action.protect, port: Int = 0): BigInt =
    InnerSetup.Rule(to, 16, action, sa, 100, protocol = if (port == 0) 0 else 17, port = port).row

  private def sent(bench: InnerBench, packets: LinkPacket*): Seq[LinkPacket] = {
    bench.toLink.clear()
    packets.foreach(bench.fromLink)
    bench.idle(300)
    bench.toLink.toSeq
  }

  test("a packet goes out of one tunnel into another, a hop further, and nothing to the port") {
    simulatePaths { (_, bench) =>
      start(bench)
      val before = bench.counters()
      for (bytes <- Seq(48, 64, 65, 128, 255)) {
        val in = packet("10.1.0.1", bytes = bytes)
        val out = sent(bench, in)
        assert(out.map(p => (p.sa, p.bypass)) == Seq((5, false)), s"$bytes B")
        assert(out.head.bytes == passed(in), s"$bytes B")
      }
      assert(bench.frames.isEmpty && bench.punts.isEmpty)
      val moved = Map[String, BigInt](
        "link_rx_packets" -> 5,
        "tx_hairpin" -> 5,
        "rx_hairpin" -> 5,
        "tx_protect" -> 5
      )
      assert(bench.balanced(before) == moved)
    }
  }

  test("no policy lets it out in clear, whatever the policy says") {
    simulatePaths { (_, bench) =>
      start(bench, rule("10.64.0.0", 5) | RuleRow.transport.put(1))
      val before = bench.counters()
      for (to <- Seq("10.2.0.1", "10.4.0.1", "10.99.0.1", "10.64.0.1")) assert(sent(bench, packet(to)).isEmpty, to)
      assert(bench.frames.isEmpty && bench.punts.isEmpty)
      val moved = Map[String, BigInt](
        "link_rx_packets" -> 4,
        "tx_hairpin" -> 4,
        "rx_hairpin" -> 4,
        "drop_hairpin_clear" -> 1,
        "drop_transport_header" -> 1,
        "drop_policy" -> 2
      )
      assert(bench.balanced(before) == moved)
    }
  }

  test("what the policies of its own network say counts, and no tag of red's") {
    simulatePaths { (_, bench) =>
      start(bench, rule("10.60.0.0", 801) | of(one), rule("10.60.0.0", 802) | of(two))
      // Red's frames without a tag are of network two meanwhile.
      write(bench, InnerTables.network, 0, NetworkRow.valid.put(1) | NetworkRow.network.put(two))
      assert(sent(bench, packet("10.60.0.1", sa = 9)).map(_.sa) == Seq(801))
      assert(sent(bench, packet("10.60.0.1", sa = 15)).map(_.sa) == Seq(802))
      assert(sent(bench, packet("10.60.0.1", sa = 4)).isEmpty)
      val turns = Seq.tabulate(60)(n => Seq(9, 15)(n * n % 3 % 2))
      assert(sent(bench, turns.map(sa => packet("10.60.0.1", sa)): _*).map(_.sa) == turns.map(sa =>
        if (sa == 9) 801 else 802
      ))
    }
  }

  test("fragments keep the ports of their datagram's first one") {
    simulatePaths { (_, bench) =>
      start(bench, rule("10.63.0.0", 805, port = 5000), rule("10.63.0.0", 806, port = 6000))
      val parts = Seq(fragment("10.63.0.1", 6000, first = true), fragment("10.63.0.1", 0, first = false))
      val out = sent(bench, parts: _*)
      assert(out.map(_.sa) == Seq(806, 806))
      assert(out.map(_.bytes) == parts.map(passed))
    }
  }

  test("the CPU gets what needs it, told that it is from a tunnel and not its own") {
    simulatePaths { (_, bench) =>
      start(bench)
      val before = bench.counters()
      val long = packet("10.10.0.1", bytes = 250)
      val bytes = long.bytes.take(20) ++ Seq.fill(600)(0.toByte)
      val whole = long.copy(bytes = dontFragment(bytes))
      bench.punts.clear()
      assert(sent(bench, packet("10.3.0.1"), whole).isEmpty)
      assert(bench.punts.map(_._1).toSeq == Seq(PuntReason.policy, PuntReason.mtu))
      assert(bench.puntHairpin.toSeq == Seq(true, true) && bench.puntInjected.toSeq == Seq(false, false))
      val frame = bench.punts.head._2
      assert(hex(frame.take(14)) == InnerSetup.portMac * 2 + "0800")
      assert(frame.slice(14, 62) == passed(packet("10.3.0.1")))
      assert(bench.balanced(before)("punt_mtu") == 1)
    }
  }

  test("a spoke that floods the CPU costs red's stations none of their answers") {
    simulatePaths { (_, bench) =>
      start(bench)
      bench.bus.write(InnerRegs.limitHairpin, InnerRegs.LimitHairpin.rate.put(1) | InnerRegs.LimitHairpin.burst.put(3))
      for (limit <- Seq(InnerRegs.limitOther, InnerRegs.limitMtu))
        bench.bus.write(limit, InnerRegs.LimitOther.rate.put(1) | InnerRegs.LimitOther.burst.put(5))
      bench.idle(40)
      val before = bench.counters()
      assert(sent(bench, Seq.fill(20)(packet("10.3.0.1")): _*).isEmpty)
      val red = encrypts.find(_.counter == "punt_policy").get
      for (_ <- 0 until 5) bench.receive(red.frame, gap = 20)
      bench.idle(200)
      assert(bench.puntHairpin.count(identity) == 3 && bench.punts.size == 3 + 5)
      val moved = Map[String, BigInt](
        "link_rx_packets" -> 20,
        "tx_hairpin" -> 20,
        "rx_hairpin" -> 20,
        "rx_frames" -> 5,
        "punt_policy" -> 8,
        "drop_punt_hairpin" -> 17
      )
      assert(bench.balanced(before) - "rx_bytes" == moved)
    }
  }

  /** DF set, total length and checksum right. */
  private def dontFragment(bytes: Seq[Byte]): Seq[Byte] = {
    val sized = bytes
      .patch(2, Seq((bytes.length >> 8).toByte, bytes.length.toByte), 2)
      .updated(6, 0x40.toByte)
      .patch(10, Seq(0, 0).map(_.toByte), 2)
    val sum = sized.take(20).grouped(2).map(word => (word(0) & 0xff) << 8 | word(1) & 0xff).sum
    val folded = (sum & 0xffff) + (sum >> 16)
    val checksum = ~((folded & 0xffff) + (folded >> 16)) & 0xffff
    sized.patch(10, Seq((checksum >> 8).toByte, checksum.toByte), 2)
  }

  test("a packet in clear from black never goes back there, and one for the box goes to it") {
    simulatePaths { (_, bench) =>
      start(bench)
      write(
        bench,
        InnerTables.inboundRule,
        InnerSetup.inboundRules.length,
        rule("10.1.0.0", 0, Action.bypass)
      )
      val before = bench.counters()
      assert(sent(bench, packet("10.1.0.1", sa = hairpin).copy(bypass = true)).isEmpty)
      assert(sent(bench, packet(InnerSetup.local)).isEmpty)
      val moved = Map[String, BigInt]("link_rx_packets" -> 2, "punt_clear_route" -> 1, "punt_tunnel" -> 1)
      assert(bench.balanced(before) == moved)
    }
  }

  test("a closed encrypt path and a full queue drop whole packets by name, and the port goes on") {
    simulatePaths { (dut, bench) =>
      start(bench)
      val to = packet("10.1.0.1", bytes = 255)
      bench.bus.write(InnerRegs.control, InnerRegs.Control.txEnable.put(1))
      var before = bench.counters()
      assert(sent(bench, to).isEmpty)
      assert(bench.balanced(before) == Map[String, BigInt]("link_rx_packets" -> 1, "drop_hairpin_closed" -> 1))

      bench.bus.write(InnerRegs.control, InnerRegs.Control.txEnable.put(1) | InnerRegs.Control.rxEnable.put(1))
      before = bench.counters()
      dut.io.toLink.ready.poke(false)
      bench.toLink.clear()
      val tries = 400
      for (_ <- 0 until tries) bench.fromLink(to)
      bench.fromLink(packet("10.0.0.1", sa = 6))
      bench.idle(200)
      assert(bench.frames.size == 1, "the port")
      dut.io.toLink.ready.poke(true)
      bench.idle(4000)
      val moved = bench.balanced(before)
      val (crossed, lost) = (moved("tx_hairpin"), moved("drop_hairpin_overflow"))
      assert(crossed + lost == tries && lost > 0 && crossed >= 512 / 4)
      assert(bench.toLink.size == crossed && bench.toLink.forall(_.bytes == passed(to)))
    }
  }
}
