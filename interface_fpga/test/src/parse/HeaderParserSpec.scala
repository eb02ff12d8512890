// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet

import java.net.InetAddress
import scala.io.Source

/**
 * Judged by scapy's dissector: tests/vectors/test_parser_frames.py writes the table of frames and
 * their contents.
 */
class HeaderParserSpec extends AnyFunSuite with CompiledOnce {

  /** What scapy reads in one frame, by the names of [[HeaderFields]]. */
  private case class Row(values: Map[String, String]) {
    val frame: Seq[Byte] = values("frame").grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq
    val l2Bytes: Int = values("l2Bytes").toInt
    def apply(name: String): BigInt = BigInt(values(name), if (name == "source" || name == "destination") 16 else 10)
    def flag(name: String): Boolean = apply(name) == 1
    def ip: Boolean = values("etherClass").startsWith("ipv")

    /** The JDK knows which addresses are multicast. */
    def group: Boolean = {
      val bits = if (values("etherClass") == "ipv6") 128 else 32
      val bytes = apply("destination").toByteArray.reverse.padTo(bits / 8, 0.toByte).take(bits / 8).reverse
      InetAddress.getByAddress(bytes).isMulticastAddress || bytes.toSeq == Seq.fill(4)(-1.toByte)
    }

    /**
     * A bare packet's family is its version; a frame's is its type, and another version is
     * malformed.
     */
    def sameBare: Boolean = ip && ((frame(l2Bytes) & 0xf0) == 0x60) == (values("etherClass") == "ipv6")
  }

  private val rows: Seq[Row] = {
    val (comments, lines) = Source.fromResource("parser_frames.txt").getLines().toSeq.partition(_.startsWith("#"))
    val columns = comments(1).split(": ").last.split(" ")
    lines.map(line => Row(columns.zip(line.split(" ")).toMap))
  }

  private def enumValue(all: Seq[EnumType], name: String): BigInt =
    all.find(_.toString.contains(s"=$name)")).get.litValue

  /** A bare IP packet has no Ethernet header and is never looked at for UDP to port 4500. */
  private def check(out: HeaderFields, row: Row, length: Int, ethernet: Boolean, clue: String): Unit = {
    def same(field: Data, expected: BigInt): Unit =
      assert(field.asInstanceOf[Bits].peek().litValue == expected, s"$clue ${field.instanceName}")
    same(out.length, length)
    assert(out.etherClass.peek().litValue == enumValue(EtherClass.all, row.values("etherClass")), clue)
    if (row.values("etherClass") != "vlan") same(out.l2Bytes, if (ethernet) row.l2Bytes else 0)
    if (row.ip) same(out.malformed, row("malformed"))
    if (row.ip && !row.flag("malformed")) same(out.unfinished, row("unfinished"))
    if (row.ip && !row.flag("malformed") && !row.flag("unfinished")) {
      val plain: Seq[HeaderFields => (Data, String)] = Seq(
        _.checksumBad -> "checksumBad",
        _.headerBytes -> "headerBytes",
        _.totalLength -> "totalLength",
        _.payloadLength -> "payloadLength",
        _.tos -> "tos",
        _.ttl -> "ttl",
        _.dontFragment -> "dontFragment",
        _.fragment -> "fragment",
        _.protocol -> "protocol",
        _.source -> "source",
        _.destination -> "destination",
        _.hasPorts -> "hasPorts",
        _.sourcePort -> "sourcePort",
        _.destinationPort -> "destinationPort",
        _.hasIcmp -> "hasIcmp",
        _.hasMobility -> "hasMobility",
        _.messageType -> "messageType",
        _.messageCode -> "messageCode"
      )
      for ((field, name) <- plain.map(_(out))) same(field, row(name))
      same(out.toGroup, if (row.group) 1 else 0)
      same(out.ttlExpired, if (row("ttl") <= 1) 1 else 0)
      if (row.values("etherClass") == "ipv4") same(out.checksum, row("checksum"))
      val encap = if (ethernet) row.values("udpEncap") else "none"
      assert(out.udpEncap.peek().litValue == enumValue(UdpEncap.all, encap), s"$clue udpEncap")
      val ike = row.values("udpEncap") == "ike" || row("protocol") == 17 && row("destinationPort") == 500
      if (ethernet && ike) same(out.ikeCookie, row("ikeCookie"))
      if (row("payloadLength") >= (if (encap == "esp") 12 else 4))
        same(out.spi, row(if (ethernet) "spi" else "payload4"))
      // The bytes behind; a frame's padding may be among them.
      val start = row.l2Bytes + row("headerBytes").toInt + (if (encap == "esp") 12 else 4)
      val bytes = row.frame.slice(start, start + (if (encap == "esp") 4 else 8))
      if (ethernet && start + 8 <= row.frame.length) same(out.content, BigInt(1, bytes.padTo(8, 0.toByte).toArray))
    }
  }

  /** The extension headers that a register can have skipped, in the order of its bits. */
  private val skipped = Seq(0, 43, 60)

  private def skip(dut: HeaderParser, headers: Seq[Int]): Unit = {
    dut.io.skip.hopByHop.poke(headers.contains(0))
    dut.io.skip.routing.poke(headers.contains(43))
    dut.io.skip.destinationOptions.poke(headers.contains(60))
  }

  /**
   * Numbers and places, behind the IPv6 header, of what a walk over all extension
   * headers meets.
   */
  private def chain(packet: Seq[Byte]): Seq[(Int, Int)] = {
    def number(at: Int): Int = packet(at) & 0xff
    def from(protocol: Int, at: Int): Seq[(Int, Int)] = (protocol, at) +: (protocol match {
      case 44 if ((number(at + 2) << 8) | number(at + 3)) >> 3 != 0 => Nil
      case 44 => from(number(at), at + 8)
      case 0 | 43 | 60 => from(number(at), at + 8 * (number(at + 1) + 1))
      case _ => Nil
    })
    from(number(6), 40)
  }

  test("a header that is not skipped is the protocol, without ports, and others are as before") {
    val whole = rows.filter(row =>
      row.values("etherClass") == "ipv6" && row.sameBare && !row.flag("malformed") && !row.flag("unfinished")
    )
    val latency = HeaderParser.latency(ethernet = true)
    simulate(new HeaderParser(ethernet = true)) { dut =>
      for (cleared <- Seq(Set(0), Set(43), Set(60), Set(0, 43, 60))) {
        skip(dut, skipped.filterNot(cleared))
        val stopped = whole.map(row => chain(row.frame.drop(row.l2Bytes)).find(header => cleared(header._1)))
        assert(stopped.count(_.isDefined) >= 20 && stopped.flatten.map(_._1).toSet == cleared)
        for (cycle <- 0 until whole.size + latency) {
          dut.io.in.valid.poke(cycle < whole.size)
          if (cycle < whole.size) {
            val frame = whole(cycle).frame
            dut.io.in.bits.bytes.poke(Packet.littleEndian(frame.take(HeaderParser.windowBytes(ethernet = true))))
            dut.io.in.bits.length.poke(frame.length)
          }
          val answer = cycle - latency
          if (answer >= 0) {
            val row = whole(answer)
            val clue = s"without ${cleared.mkString(",")}, row $answer"
            val out = dut.io.out.bits
            stopped(answer) match {
              case None => check(out, row, row.frame.length, ethernet = true, clue)
              case Some((protocol, at)) =>
                val expected = Seq[(Bits, BigInt)](
                  out.malformed -> 0,
                  out.unfinished -> 0,
                  out.protocol -> protocol,
                  out.headerBytes -> at,
                  out.payloadLength -> (row("totalLength") - at),
                  out.hasPorts -> 0,
                  out.sourcePort -> 0,
                  out.destinationPort -> 0,
                  out.hasIcmp -> 0,
                  out.messageType -> 0,
                  out.source -> row("source"),
                  out.totalLength -> row("totalLength")
                )
                for ((field, value) <- expected)
                  assert(field.peek().litValue == value, s"$clue ${field.instanceName}")
            }
          }
          dut.clock.step()
        }
      }
    }
  }

  for (ethernet <- Seq(true, false)) {
    test(s"every field is scapy's, a packet a cycle, ${if (ethernet) "frames" else "IP packets"}") {
      val packets = rows
        .filter(ethernet || _.sameBare)
        .map(row => row -> (if (ethernet) row.frame else row.frame.drop(row.l2Bytes)))
      assert(packets.size > 1000)
      val latency = HeaderParser.latency(ethernet)
      simulate(new HeaderParser(ethernet)) { dut =>
        skip(dut, skipped)
        for (cycle <- 0 until packets.size + latency) {
          dut.io.in.valid.poke(cycle < packets.size)
          if (cycle < packets.size) {
            val bytes = packets(cycle)._2
            dut.io.in.bits.bytes.poke(Packet.littleEndian(bytes.take(HeaderParser.windowBytes(ethernet))))
            dut.io.in.bits.length.poke(bytes.length)
          }
          val answer = cycle - latency
          dut.io.out.valid.expect(answer >= 0)
          if (answer >= 0) {
            val (row, bytes) = packets(answer)
            check(
              dut.io.out.bits,
              row,
              bytes.length,
              ethernet,
              s"row $answer: ${row.frame.take(150).map(b => f"$b%02x").mkString}"
            )
            if (ethernet) dut.io.out.bits.macDestination.expect(Packet.littleEndian(bytes.take(6)))
          }
          dut.clock.step()
        }
      }
    }
  }
}
