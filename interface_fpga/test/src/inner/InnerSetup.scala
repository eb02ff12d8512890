// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import sallyport.common.registers.AxiLiteDriver
import sallyport.common.registers.map.{Action, FlowRow, InnerRegs, InnerTables, NextHopRow, RuleRow, SelectorRow, Upper}
import sallyport.common.stream.Packet

import java.net.InetAddress
import java.util.zip.CRC32C

/**
 * The policy that the expectations of tests/vectors/test_inner_frames.py assume, as software
 * writes it.
 */
object InnerSetup {
  val portMac = "020000000001"

  /** The red port's addresses, of networks of 24 and 64 bits. */
  val local = "198.51.100.1"
  val localV6 = "2001:db8:6464::1"

  def address(text: String): BigInt = BigInt(1, InetAddress.getByName(text).getAddress)
  def version(address: String): Int = if (address.contains(":")) 6 else 4

  /**
   * The prefix length that a row has for the first `bits` of an address; its addresses have
   * 128 bits.
   */
  def prefix(address: String, bits: Int): Int = if (version(address) == 4) 96 + bits else bits
  def mask(address: String, bits: Int): BigInt = {
    val rest = 128 - prefix(address, bits)
    ((BigInt(1) << 128) - 1) >> rest << rest
  }

  /** What the ports of a protocol are. */
  def upper(protocol: Int): Int = protocol match {
    case 6 | 17 | 132 => Upper.ports
    case 1 | 58 => Upper.icmp
    case _ => Upper.opaque
  }

  /** An address as registers and rows hold it: first wire byte in bits 7:0. */
  def mac(hex: String): BigInt = Packet.littleEndian(hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq)

  case class Rule(
      destination: String,
      bits: Int,
      action: Int,
      sa: Int,
      priority: Int,
      protocol: Int = 0,
      port: Int = 0,
      icmpType: Option[Int] = None,
      mtu: Int = 0,
      fragment: Boolean = false
  ) {
    def row: BigInt =
      RuleRow.valid.put(1) | RuleRow.action.put(action) | RuleRow.sa.put(sa) | RuleRow.priority.put(priority) |
        RuleRow.mtu.put(mtu) | RuleRow.fragment.put(if (fragment) 1 else 0) |
        RuleRow.version.put(version(destination)) | RuleRow.versionMask.put(15) |
        RuleRow.dstAddr.put(address(destination)) | RuleRow.dstMask.put(mask(destination, bits)) |
        RuleRow.protocol.put(protocol) | RuleRow.protocolMask.put(if (protocol == 0) 0 else 255) |
        (if (port == 0) BigInt(0)
         else
           RuleRow.dstPort.put(port) | RuleRow.dstPortMask.put(65535) | RuleRow.upper.put(Upper.ports) |
             RuleRow.upperMask.put(15)) |
        icmpType.fold(BigInt(0))(number =>
          RuleRow.srcPort.put(number) | RuleRow.srcPortMask.put(65535) | RuleRow.upper.put(Upper.icmp) |
            RuleRow.upperMask.put(15)
        )
  }

  val rules: Seq[Rule] = Seq(
    Rule("10.1.0.0", 16, Action.protect, 5, 100),
    Rule("10.2.0.0", 16, Action.bypass, 3, 100),
    Rule("10.3.0.0", 16, Action.punt, 0, 100),
    Rule("10.4.0.0", 16, Action.discard, 0, 100),
    Rule("10.5.0.0", 16, Action.protect, 6, 50, protocol = 17, port = 5000),
    Rule("10.5.0.0", 16, Action.bypass, 1, 60),
    Rule("10.1.9.0", 24, Action.discard, 0, 10),
    Rule("10.7.0.0", 16, Action.protect, 8, 90, protocol = 1, icmpType = Some(0)),
    Rule("10.7.0.0", 16, Action.bypass, 2, 91, protocol = 1, icmpType = Some(8)),
    Rule("2001:db8:1::", 48, Action.protect, 5, 100),
    Rule("2001:db8:2::", 48, Action.bypass, 3, 100),
    Rule("2001:db8:3::", 48, Action.punt, 0, 100),
    Rule("2001:db8:4::", 47, Action.discard, 0, 100),
    Rule("2001:db8:5::", 48, Action.protect, 6, 50, protocol = 17, port = 5000),
    Rule("2001:db8:5::", 48, Action.bypass, 1, 60),
    Rule("2001:db8:7::", 48, Action.protect, 8, 90, protocol = 58, icmpType = Some(128)),
    Rule("2001:db8:1::9", 128, Action.protect, 7, 20),
    Rule("10.10.0.0", 16, Action.protect, 9, 100, mtu = 600),
    Rule("10.11.0.0", 16, Action.protect, 10, 100, mtu = 600, fragment = true),
    Rule("10.12.0.0", 16, Action.bypass, 4, 100, mtu = 576, fragment = true),
    Rule("2001:db8:a::", 48, Action.protect, 9, 100, mtu = 1280, fragment = true)
  )

  case class Flow(
      source: String,
      destination: String,
      protocol: Int,
      sourcePort: Int,
      port: Int,
      sa: Int,
      priority: Int,
      mtu: Int = 0
  ) {
    val key: BigInt = FlowRow.srcAddr.put(address(source)) | FlowRow.dstAddr.put(address(destination)) |
      FlowRow.srcPort.put(sourcePort) | FlowRow.dstPort.put(port) | FlowRow.protocol.put(protocol) |
      FlowRow.version.put(version(source)) | FlowRow.upper.put(upper(protocol))
    def row: BigInt =
      key | FlowRow.valid.put(1) | FlowRow.action.put(Action.protect) | FlowRow.sa.put(sa) | FlowRow.priority.put(
        priority
      ) | FlowRow.mtu.put(mtu)

    /** The row of way 0 or 1, worked out by the JDK's CRC. */
    def index(rowsPerWay: Int): Int = {
      val crc = new CRC32C
      crc.update(Packet.bytesOf(key, 39).toArray)
      val way = (sa + 1) % 2
      way * rowsPerWay + ((crc.getValue >> (16 * way)) % rowsPerWay).toInt
    }
  }

  val flows: Seq[Flow] = Seq(
    Flow("10.0.0.1", "10.1.0.77", 17, 7, 8, 700, 100),
    Flow("10.0.0.1", "10.1.9.9", 17, 7, 8, 701, 10),
    Flow("10.0.0.1", "10.1.9.12", 17, 7, 8, 702, 11),
    Flow("10.0.0.1", "10.2.0.5", 1, 8, 0, 703, 1),
    Flow("10.6.0.2", "10.6.0.1", 132, 100, 200, 704, 0xffffff),
    Flow("2001:db8::1", "2001:db8:1::77", 17, 7, 8, 705, 100),
    Flow("2001:db8::1", "2001:db8:2::5", 58, 129, 0, 706, 1),
    Flow("2001:db8::1", "2001:db8:2::6", 47, 0, 0, 707, 1),
    // The same 128 bits as 10.6.0.2 and 10.6.0.1, of the other family.
    Flow("::10.6.0.2", "::10.6.0.1", 132, 100, 200, 708, 1),
    Flow("10.0.0.1", "10.11.0.79", 17, 7, 8, 709, 1, mtu = 1001),
    Flow("10.0.0.1", "10.4.0.7", 17, 7, 8, 710, 99),
    Flow("2001:db8::1", "2001:db8:4::7", 17, 7, 8, 711, 99)
  )

  /** Row of policy_usage of a rule or flow; row 0 belongs to none. */
  def usage(policy: Product): Int = (rules ++ flows).indexOf(policy) + 1

  private def selector(window: Int, nextHop: Int, replay: Boolean = true): BigInt =
    SelectorRow.valid.put(1) | SelectorRow.replay.put(if (replay) 1 else 0) | SelectorRow.windowSize.put(window) |
      SelectorRow.nextHop.put(nextHop)

  /** Allows UDP from 10.9.0.0/24, ports 4099 to 5000, to 10.0.0.1, ports 80 to 443. */
  private val narrow: BigInt = prefixes("10.9.0.0", 24, "10.0.0.1", 32) | udpPorts

  /** The same of 2001:db8:9::/61 and 2001:db8::1. */
  private val narrowV6: BigInt = prefixes("2001:db8:9::", 61, "2001:db8::1", 128) | udpPorts

  private def prefixes(source: String, sourceBits: Int, destination: String, destinationBits: Int): BigInt =
    SelectorRow.srcAddr.put(address(source)) | SelectorRow.srcPrefix.put(prefix(source, sourceBits)) |
      SelectorRow.dstAddr.put(address(destination)) | SelectorRow.dstPrefix.put(prefix(destination, destinationBits)) |
      ipVersion(version(source))

  private def ipVersion(version: Int): BigInt = SelectorRow.version.put(version) | SelectorRow.versionMask.put(15)

  private val any = 0 to 65535

  /** Two ranges of what `upper` says, of a protocol. */
  private def numbers(protocol: Int, upper: Int, first: Range, second: Range): BigInt =
    SelectorRow.protocol.put(protocol) | SelectorRow.protocolMask.put(255) | SelectorRow.upper.put(upper) |
      SelectorRow.upperMask.put(15) | ranges(first, second)

  private def ranges(first: Range, second: Range): BigInt =
    SelectorRow.srcPort.put(first.head) | SelectorRow.srcPortLast.put(first.last) |
      SelectorRow.dstPort.put(second.head) | SelectorRow.dstPortLast.put(second.last)

  private def udpPorts: BigInt = numbers(17, Upper.ports, 4099 to 5000, 80 to 443)

  /**
   * Echo requests of IPv6 alone, errors of IPv6, and IPv4's unreachable messages with codes 1 to 4;
   * from and to any address.
   */
  private val echo: BigInt = ipVersion(6) | numbers(58, Upper.icmp, 128 to 128, any)
  private val errors: BigInt = ipVersion(6) | numbers(58, Upper.icmp, 1 to 4, any)
  private val unreachable: BigInt = ipVersion(4) | numbers(1, Upper.icmp, 3 to 3, 1 to 4)

  /**
   * The packets of two groups of inbound SAs and those that may come in clear, as rules in the
   * order of the rows. A discard belongs to none.
   */
  val inboundRules: Seq[Rule] = Seq(
    Rule("10.0.1.0", 24, Action.protect, 77, 1, protocol = 17, port = 80),
    Rule("10.0.1.0", 24, Action.discard, 77, 2, protocol = 17, port = 81),
    Rule("10.0.1.0", 25, Action.protect, 78, 3),
    Rule("10.0.0.1", 32, Action.bypass, 0, 3),
    Rule("10.0.0.0", 23, Action.protect, 77, 4),
    Rule("2001:db8:1::", 48, Action.protect, 77, 5),
    Rule("10.0.1.0", 24, Action.bypass, 0, 6),
    Rule("2001:db8::1", 128, Action.bypass, 0, 6),
    Rule(local, 32, Action.bypass, 0, 7, protocol = 6, port = 179),
    Rule(localV6, 128, Action.bypass, 0, 7)
  )

  /**
   * An SA of one of the groups. What else its row says of packets, those to port 0 alone,
   * means nothing.
   */
  private def grouped(group: Int): BigInt =
    selector(1024, 0) | SelectorRow.byRules.put(1) | SelectorRow.group.put(group)

  val selectors: Map[Int, BigInt] = Map(
    1 -> grouped(77),
    2 -> grouped(78),
    3 -> (grouped(78) | ranges(any, any)),
    5 -> (selector(64, 7) | ranges(any, any)),
    6 -> (selector(64, 0, replay = false) | ranges(any, any)),
    7 -> (selector(1024, 0) | ranges(any, any)),
    8 -> (selector(1024, 0) | narrow),
    10 -> (selector(1024, 1) | ranges(any, any)),
    11 -> (selector(1024, 0) | narrowV6),
    12 -> (selector(1024, 0) | echo),
    13 -> (selector(1024, 0) | errors),
    14 -> (selector(1024, 0) | unreachable)
  ).map { case (sa, row) => sa -> (row | SelectorRow.windowRow0.put(sa)) }
  val nextHops: Map[Int, BigInt] =
    Seq(0 -> "02aa00000000", 7 -> "02aa00000007").map { case (n, a) =>
      n -> (NextHopRow.valid.put(1) | NextHopRow.mac.put(mac(a)))
    }.toMap

  def write(bus: AxiLiteDriver, config: InnerConfig): Unit = {
    bus.write(InnerRegs.portMacLo, mac(portMac) & 0xffffffffL)
    bus.write(InnerRegs.portMacHi, mac(portMac) >> 32)
    bus.write(InnerRegs.localIpv4, address(local))
    for (
      (register, n) <-
        Seq(InnerRegs.localIpv60, InnerRegs.localIpv61, InnerRegs.localIpv62, InnerRegs.localIpv63).zipWithIndex
    ) bus.write(register, address(localV6) >> (32 * n) & 0xffffffffL)
    bus.write(InnerRegs.localPrefix, InnerRegs.LocalPrefix.ipv4.put(24) | InnerRegs.LocalPrefix.ipv6.put(64))
    for ((rule, i) <- rules.sortBy(_.priority).zipWithIndex) {
      val row = rule.row | RuleRow.usage.put(usage(rule))
      assert(bus.writeRow(InnerTables.rule, i, row))
    }
    val places = flows.map(_.index((1 << config.flowBits) / 4))
    require(places.distinct == places, "two flows want one row")
    for (flow <- flows) {
      val row = flow.row | FlowRow.usage.put(usage(flow))
      assert(bus.writeRow(InnerTables.flow, flow.index((1 << config.flowBits) / 4), row))
    }
    for ((rule, i) <- inboundRules.zipWithIndex) assert(bus.writeRow(InnerTables.inboundRule, i, rule.row))
    for ((index, row) <- selectors) assert(bus.writeRow(InnerTables.selector, index, row))
    for ((index, row) <- nextHops) assert(bus.writeRow(InnerTables.nextHop, index, row))
    bus.write(InnerRegs.control, InnerRegs.Control.rxEnable.put(1) | InnerRegs.Control.txEnable.put(1))
  }
}
