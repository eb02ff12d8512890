// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import sallyport.common.registers.map.{Action, PeerRow, PuntReason, RuleRow, SadRow}
import sallyport.common.stream.Packet
import sallyport.common.table.CuckooHash
import sallyport.iface.cpu.PuntedFrame
import sallyport.iface.inner.InnerSetup

import scala.io.Source

/** What becomes of a frame on the black port. */
sealed trait Outcome

object Outcome {

  /** To the link as `bytes`. */
  case class Link(sa: Int, bypass: Boolean, tos: Int, bytes: Seq[Byte]) extends Outcome

  /** To the management CPU, whole. */
  case class Punt(reason: Int, bytes: Seq[Byte]) extends Outcome

  object Punt {

    /** Of what leaves the punt port. */
    def apply(bytes: Seq[Byte]): Punt = {
      val punted = PuntedFrame(bytes)
      require(punted.port == 1, s"punted by port ${punted.port}")
      Punt(punted.reason, punted.frame)
    }
  }

  /** Nowhere, counted under `drop_` + `reason`. */
  case class Drop(reason: String) extends Outcome
}

/** One line of outer_frames.txt. */
case class OuterFrame(name: String, bytes: Seq[Byte], outcome: Outcome)

/** Frames made by scapy, what becomes of each, and the table rows under which it does. */
object OuterFrames {

  /** The address that ESP, IKE and ICMP of these frames are for: 203.0.113.1. */
  val localIpv4: BigInt = BigInt("cb007101", 16)

  /** And 2001:db8:71::1. */
  val localIpv6: BigInt = InnerSetup.address("2001:db8:71::1")

  /** 02:5a:00:00:00:01, first wire byte in bits 7:0. */
  val portMac: BigInt = Packet.littleEndian(bytes("025a00000001"))

  def bytes(hex: String): Seq[Byte] = hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq

  private val reasons = Map(
    "arp" -> PuntReason.arp,
    "link_local" -> PuntReason.linkLocal,
    "vlan" -> PuntReason.vlan,
    "fragment" -> PuntReason.fragment,
    "ike" -> PuntReason.ike,
    "ike_cookie" -> PuntReason.ikeCookie,
    "ike_init" -> PuntReason.ikeInit,
    "icmp" -> PuntReason.icmp,
    "other" -> PuntReason.other,
    "extension_headers" -> PuntReason.extensionHeaders,
    "policy" -> PuntReason.policy,
    "unknown_spi" -> PuntReason.unknownSpi,
    "nd" -> PuntReason.nd,
    "resolution" -> PuntReason.resolution,
    "reasm" -> PuntReason.reasm
  )

  val all: Seq[OuterFrame] =
    Source.fromResource("outer_frames.txt").getLines().filterNot(_.startsWith("#")).map(parse).toSeq

  def named(name: String): OuterFrame = all.find(_.name == name).get

  private def parse(line: String): OuterFrame = {
    val name +: hex +: outcome = line.split(" ").toSeq
    val frame = bytes(hex)
    OuterFrame(
      name,
      frame,
      outcome match {
        case Seq("link", sa, bypass, strip, length, tos) =>
          val kept = frame.slice(strip.toInt, strip.toInt + length.toInt)
          Outcome.Link(sa.toInt, bypass == "1", Integer.parseInt(tos, 16), kept)
        case Seq("punt", reason) => Outcome.Punt(reasons(reason), frame)
        case Seq("drop", reason) => Outcome.Drop(reason)
      }
    )
  }

  /** Where SPI 0x4001 of the box is expected from, as the frames say that are not of this. */
  val peerAddress: BigInt = InnerSetup.address("192.0.2.77")
  val peerPort: Int = 4500

  /**
   * (SPI, destination, SA, in UDP): inbound SAs at the box's addresses and at 203.0.113.9, one of
   * IPv6 with the bits of IPv4. A router has no SPI twice.
   */
  private val sas = Seq(
    (0x1001L, "203.0.113.1", 5, 0),
    (0xdeadbeefL, "203.0.113.1", 1023, 0),
    (0x4001L, "203.0.113.1", 9, 1),
    (0x4003L, "203.0.113.9", 9, 1),
    (0x6001L, "2001:db8:71::1", 7, 1),
    (0x6002L, "::203.0.113.1", 8, 0)
  )

  /**
   * Table rows (index, row) of a router's SAD with `rowsPerWay` rows in each way: found by
   * SPI alone.
   */
  def sadRows(rowsPerWay: Int): Seq[(Int, BigInt)] = sas.zipWithIndex.map { case ((spi, destination, sa, encap), i) =>
    sadRow(rowsPerWay, i, spi, destination, sa, encap, key => SadRow.spi(key))
  }

  /**
   * Two SAs of one SPI, at 203.0.113.1 and 203.0.113.2: a bump in the wire finds them by their
   * destinations too.
   */
  def bumpRows(rowsPerWay: Int): Seq[(Int, BigInt)] = Seq("203.0.113.1" -> 11, "203.0.113.2" -> 12).zipWithIndex.map {
    case ((destination, sa), i) => sadRow(rowsPerWay, i, 0x1001, destination, sa, 0, identity)
  }

  private def sadRow(
      rowsPerWay: Int,
      number: Int,
      spi: Long,
      destination: String,
      sa: Int,
      encap: Int,
      asked: BigInt => BigInt
  ): (Int, BigInt) = {
    val key = SadRow.spi.put(spi) | SadRow.dstAddr.put(InnerSetup.address(destination)) |
      SadRow.version.put(InnerSetup.version(destination))
    val peer = if (destination == "203.0.113.1") SadRow.peerAddr.put(peerAddress) | SadRow.peerPort.put(peerPort)
    else BigInt(0)
    val row = key | SadRow.valid.put(1) | SadRow.sa.put(sa) | SadRow.encap.put(encap) | peer
    val way = number % CuckooHash.ways
    (way * rowsPerWay + CuckooHash.row(way, asked(key), SadRow.version.msb + 1, rowsPerWay), row)
  }

  /** Rows (index, row) of the table of peers, with `rowsPerWay` in each way. */
  def peerRows(rowsPerWay: Int): Seq[(Int, BigInt)] = Seq("192.0.2.77", "2001:db8:64::7").zipWithIndex.map {
    case (peer, way) =>
      val key = PeerRow.addr.put(InnerSetup.address(peer)) | PeerRow.version.put(InnerSetup.version(peer))
      val row = CuckooHash.row(way, key, PeerRow.version.msb + 1, rowsPerWay)
      (way * rowsPerWay + row, key | PeerRow.valid.put(1))
  }

  private def rule(action: Int, sa: Int, priority: Int, protocol: Int, port: Option[Int]): BigInt =
    RuleRow.valid.put(1) | RuleRow.action.put(action) | RuleRow.sa.put(sa) | RuleRow.priority.put(priority) |
      RuleRow.protocol.put(protocol) | RuleRow.protocolMask.put(255) |
      port.map(p => RuleRow.dstPort.put(p) | RuleRow.dstPortMask.put(0xffff)).getOrElse(BigInt(0))

  private def esp(action: Int, network: String): BigInt = rule(action, 3, 40, 50, None) |
    RuleRow.srcAddr.put(InnerSetup.address(network)) | RuleRow.srcMask.put(InnerSetup.mask(network, 24)) |
    RuleRow.version.put(4) | RuleRow.versionMask.put(15)

  /**
   * UDP from 198.51.100.0/24 to port 7000: BYPASS to next hop 3, from 2001:db8:64::/48 to 4; to
   * 7001: DISCARD; TCP to 179: PUNT; OSPF: PROTECT. ESP from 198.51.100.0/24: BYPASS to 3;
   * from 198.51.101.0/24: PUNT; from 198.51.102.0/24: DISCARD.
   */
  val ruleRows: Seq[(Int, BigInt)] = Seq(
    rule(Action.bypass, 3, 10, 17, Some(7000)) |
      RuleRow.srcAddr.put(InnerSetup.address("198.51.100.0")) |
      RuleRow.srcMask.put(InnerSetup.mask("198.51.100.0", 24)) | RuleRow.version.put(4) | RuleRow.versionMask.put(15),
    rule(Action.discard, 0, 5, 17, Some(7001)),
    rule(Action.punt, 0, 20, 6, Some(179)),
    rule(Action.protect, 0, 30, 89, None),
    rule(Action.bypass, 4, 10, 17, Some(7000)) | RuleRow.version.put(6) | RuleRow.versionMask.put(15) |
      RuleRow.srcAddr.put(InnerSetup.address("2001:db8:64::")) | RuleRow.srcMask.put(InnerSetup.mask(
        "2001:db8:64::",
        48
      )),
    esp(Action.bypass, "198.51.100.0"),
    esp(Action.punt, "198.51.101.0"),
    esp(Action.discard, "198.51.102.0")
  ).zipWithIndex.map(_.swap)
}
