package sallyport.iface

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common._
import scala.io.Source

/** Judged by scapy's dissector: tests/test_parser_frames.py writes the table of frames and what is in them. */
class HeaderParserSpec extends AnyFunSuite with ChiselSim {

  /** What scapy reads in one frame, by the names of [[HeaderFields]]. */
  private case class Row(values: Map[String, String]) {
    val frame: Seq[Byte] = values("frame").grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq
    val l2Bytes: Int = values("l2Bytes").toInt
    def apply(name: String): BigInt = BigInt(values(name), if (name == "source" || name == "destination") 16 else 10)
    def flag(name: String): Boolean = apply(name) == 1
    def ip: Boolean = values("etherClass").startsWith("ipv")

    /** A bare packet's family is its version; a frame's is its type, and another version is malformed. */
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
      same(out.ttlExpired, if (row("ttl") <= 1) 1 else 0)
      if (row.values("etherClass") == "ipv4") same(out.checksum, row("checksum"))
      val encap = if (ethernet) row.values("udpEncap") else "none"
      assert(out.udpEncap.peek().litValue == enumValue(UdpEncap.all, encap), s"$clue udpEncap")
      if (row("payloadLength") >= (if (encap == "esp") 12 else 4))
        same(out.spi, row(if (ethernet) "spi" else "payload4"))
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
