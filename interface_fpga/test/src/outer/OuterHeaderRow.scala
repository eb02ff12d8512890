// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import sallyport.common.registers.map.{NextHopRow, TunnelRow}
import sallyport.common.stream.Packet

import scala.io.Source

/**
 * One line of outer_headers.txt: a packet on the link, the rows it meets, and the header that scapy
 * makes for it.
 *
 * @param bypassVersion IP version of a bypassed packet; 0 of others
 * @param v6 the outer header is IPv6
 * @param sourcePort with `destinationPort`, the ports of ESP in UDP; both 0 of ESP without
 * @param nextHopMac first wire byte in bits 7:0
 */
case class OuterHeaderRow(
    bypassVersion: Int,
    length: Int,
    tos: Int,
    df: Boolean,
    v6: Boolean,
    source: BigInt,
    destination: BigInt,
    ttl: Int,
    dscpCopy: Boolean,
    dscp: Int,
    dfMode: Int,
    ecnCopy: Boolean,
    flowLabel: Int,
    sourcePort: Int,
    destinationPort: Int,
    nextHopMac: BigInt,
    header: Seq[Byte]
) {
  def bypass: Boolean = bypassVersion != 0
  def encap: Boolean = destinationPort != 0

  /** The header has a checksum of the bytes behind it, [[OuterHeaderRow.pattern]]. */
  def summed: Boolean = v6 && encap

  /** Of IPv4, where it is a count of the ESP rows; 0 of all others. */
  def identification: Int =
    if (bypass || v6) 0 else OuterHeaderRow.word(header, OuterHeaderRow.identificationAt)

  /**
   * The header with another identification, of IPv4 and not bypassed. Its checksum follows from
   * scapy's by RFC 1624, equation 3.
   */
  def identified(number: Int): Seq[Byte] = if (bypass || v6) header
  else {
    import OuterHeaderRow.{checksumAt, fold, identificationAt, patched, word}
    val sum = fold((~word(header, checksumAt) & 0xffff) + (~identification & 0xffff) + number)
    patched(patched(header, identificationAt, number), checksumAt, ~sum & 0xffff)
  }

  /** The header with the identification that `frame` has. */
  def as(frame: Seq[Byte]): Seq[Byte] = identified(OuterHeaderRow.word(frame, OuterHeaderRow.identificationAt))

  /** Of the ESP trailer, or of a bypassed packet: what LinkMeta says of it. */
  def nextHeader: Int = if (bypassVersion == 6) 41 else 4

  private def bit(flag: Boolean): BigInt = if (flag) 1 else 0

  def tunnelRow(nextHop: Int, mtu: Int = 0): BigInt =
    TunnelRow.valid.put(1) | TunnelRow.v6.put(bit(v6)) | TunnelRow.flowLabel.put(flowLabel) | TunnelRow.srcAddr.put(
      source
    ) | TunnelRow.dstAddr.put(destination) |
      TunnelRow.ttl.put(ttl) | TunnelRow.dscpCopy.put(bit(dscpCopy)) | TunnelRow.dscp.put(dscp) |
      TunnelRow.dfMode.put(dfMode) | TunnelRow.ecnCopy.put(bit(ecnCopy)) | TunnelRow.nextHop.put(nextHop) |
      TunnelRow.mtu.put(mtu) | TunnelRow.encap.put(bit(encap)) | TunnelRow.srcPort.put(sourcePort) |
      TunnelRow.dstPort.put(destinationPort)

  def nextHopRow: BigInt = NextHopRow.valid.put(1) | NextHopRow.mac.put(nextHopMac)
}

object OuterHeaderRow {

  /** Of an IPv4 header behind an Ethernet header. */
  private val identificationAt: Int = 18
  private val checksumAt: Int = 24

  private def word(bytes: Seq[Byte], at: Int): Int = (bytes(at) & 0xff) << 8 | bytes(at + 1) & 0xff
  private def patched(bytes: Seq[Byte], at: Int, word: Int): Seq[Byte] =
    bytes.patch(at, Seq((word >> 8).toByte, word.toByte), 2)
  private def fold(sum: Int): Int = if (sum > 0xffff) fold((sum & 0xffff) + (sum >> 16)) else sum

  def pattern(length: Int): Seq[Byte] = Seq.tabulate(length)(i => (i % 251).toByte)

  /** What the link's receiver says of a packet: the sum of its 32-bit words, lowest byte first. */
  def sum(packet: Seq[Byte]): BigInt = packet.grouped(4).map(Packet.littleEndian).sum

  val all: Seq[OuterHeaderRow] =
    Source.fromResource("outer_headers.txt").getLines().filterNot(_.startsWith("#")).map(parse).toSeq

  private def parse(line: String): OuterHeaderRow = {
    val Seq(bypass, length, tos, df, src, dst, ttl, dscpCopy, dscp, dfMode, ecnCopy, flow, sport, dport, mac, header) =
      line.split(" ").toSeq
    OuterHeaderRow(
      bypass.toInt,
      length.toInt,
      tos.toInt,
      df == "1",
      src.length == 32,
      BigInt(src, 16),
      BigInt(dst, 16),
      ttl.toInt,
      dscpCopy == "1",
      dscp.toInt,
      dfMode.toInt,
      ecnCopy == "1",
      flow.toInt,
      sport.toInt,
      dport.toInt,
      Packet.littleEndian(OuterFrames.bytes(mac)),
      OuterFrames.bytes(header)
    )
  }
}
