// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.common.table.CuckooHash
import sallyport.iface.mac.MacReceive

/**
 * Parameters of a [[Reassembler]].
 *
 * @param datagrams  datagrams under reassembly at once; beyond it the oldest gives way
 * @param tableRows  rows of each of the table's four ways, a power of two; at a row for each
 *                   datagram and way the chance that one of them finds no place is below 1 %
 * @param cells      cells of [[ReassemblyConfig.cellBytes]] that hold them, a power of two
 * @param sources    counters of datagrams by source (an IPv4 address or an IPv6 /64), a power of
 *                   two: sources that share one share a limit
 * @param maxBytes   longest packet that is made, with its link-layer header
 * @param queueBeats fragments that wait, in 64-byte beats, a power of two
 * @param ipOffsets  bytes that may stand in front of the IP header
 * @param tickCycles cycles of a tick, in which time is measured: 3.5 ms at 300 MHz
 * @param tickBits   bits of the time of arrival; a timeout is below half their range
 */
case class ReassemblyConfig(
    datagrams: Int = 1024,
    tableRows: Int = 1024,
    cells: Int = 4096,
    sources: Int = 4096,
    maxBytes: Int = PacketStream.maxFrameBytes,
    queueBeats: Int = 512,
    ipOffsets: Seq[Int] = Seq(14, 18, 22),
    tickCycles: Int = 1 << 20,
    tickBits: Int = 16
) {
  import ReassemblyConfig._
  require(datagrams >= 1, "a reassembler has room for one datagram or more")
  require(isPow2(tableRows) && tableRows >= 4, s"a table way of $tableRows rows: make it a power of two, 4 or more")
  require(datagrams <= 2 * tableRows, s"$datagrams datagrams need ${datagrams / 2} rows a way or more, not $tableRows")
  require(tickCycles >= 2, s"a tick of $tickCycles cycles: give 2 or more")
  require(isPow2(cells) && cells >= 16, s"$cells cells: make it a power of two, 16 or more")
  require(isPow2(sources) && sources >= 2, s"$sources counters of sources: make it a power of two, 2 or more")
  require(
    maxBytes >= 576 && maxBytes <= PacketStream.maxFrameBytes,
    s"packets of $maxBytes B: give 576 (RFC 791 2.3) to ${PacketStream.maxFrameBytes}"
  )
  require(
    queueBeats * PacketStream.dataBytes >= PacketStream.maxFrameBytes,
    s"a queue of $queueBeats beats does not hold a frame of ${PacketStream.maxFrameBytes} B"
  )
  require(
    ipOffsets.nonEmpty && ipOffsets.distinct.size == ipOffsets.size && ipOffsets.forall(n =>
      n % 2 == 0 && n >= 0 && n <= 22
    ),
    s"IP headers at $ipOffsets: give even offsets of 0 to 22 bytes"
  )

  /** Cells that the longest packet needs. */
  val pages: Int = (headerBytes + maxBytes + cellBytes - 1) / cellBytes
  require(pages <= 16, "a datagram has 16 cells at most")
  require(cells >= pages, s"$cells cells do not hold a packet of $maxBytes B: it needs $pages")

  val cellBits: Int = log2Ceil(cells)
  val pageBits: Int = log2Ceil(pages)
  val rowBits: Int = log2Ceil(tableRows)
  val sourceBits: Int = log2Ceil(sources)

  /** A number of datagrams, and one above their limit. */
  val datagramBits: Int = log2Ceil(datagrams + 2)

  /** A number of 8-byte units in a datagram's cells, those of its header among them. */
  val unitBits: Int = log2Ceil(pages * cellUnits + 1)

  /** A packet's bytes that the engine reads: the IPv4 header up to its checksum. */
  val windowBytes: Int = ipOffsets.max + 12
}

object ReassemblyConfig {

  /** A fragment's offset counts in these (RFC 791 3.1, RFC 8200 4.5). */
  val unitBytes: Int = 8
  val beatUnits: Int = PacketStream.dataBytes / unitBytes
  val cellBytes: Int = 1024
  val cellUnits: Int = cellBytes / unitBytes
  val cellRows: Int = cellBytes / PacketStream.dataBytes

  /** Space for the header in front of a datagram's first byte: it ends where the payload begins. */
  val headerBytes: Int = 2 * PacketStream.dataBytes
  val headerUnits: Int = headerBytes / unitBytes
  val ways: Int = CuckooHash.ways

  /**
   * For simulation: models of it are small, and time passes in a thousandth. No packet is longer
   * than one from a port.
   */
  val small: ReassemblyConfig = ReassemblyConfig(
    datagrams = 64,
    tableRows = 64,
    cells = 256,
    sources = 256,
    maxBytes = MacReceive.maxBytes,
    queueBeats = 256,
    tickCycles = 1 << 10
  )

  /** For a board: 1 Ki datagrams in 4 MiB. */
  val full: ReassemblyConfig = ReassemblyConfig(maxBytes = MacReceive.maxBytes)
}
