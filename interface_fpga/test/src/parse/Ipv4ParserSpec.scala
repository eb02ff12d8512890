package sallyport.iface

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common._
import scala.io.Source

/** Judged by scapy's dissector: tests/test_parser_frames.py writes the table of frames and what is in them. */
class Ipv4ParserSpec extends AnyFunSuite with ChiselSim {

  private case class Row(
      etherClass: String,
      values: Seq[BigInt],
      udpEncap: UdpEncap.Type,
      spi: BigInt,
      frame: Seq[Byte]
  )

  private val rows: Seq[Row] = Source
    .fromResource("parser_frames.txt")
    .getLines()
    .filterNot(_.startsWith("#"))
    .map { line =>
      val words = line.split(" ").toSeq
      Row(
        words.head,
        words.slice(1, 17).map(BigInt(_)),
        UdpEncap.all.find(_.toString.contains(s"=${words(17)})")).get,
        BigInt(words(18)),
        words.last.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq
      )
    }
    .toSeq

  /** A bare IP packet is never looked at for UDP to port 4500. */
  private def check(out: HeaderFields, row: Row, length: Int, ethernet: Boolean, clue: String): Unit = {
    assert(out.length.peek().litValue == length, clue)
    assert(
      out.etherClass.peek().litValue == EtherClass.all.find(_.toString.contains(row.etherClass)).get.litValue,
      clue
    )
    if (row.etherClass == "ipv4") {
      assert(out.malformed.peek().litValue == row.values.head, s"$clue malformed")
      if (row.values.head == 0) {
        val fields = Seq(
          out.checksumBad,
          out.headerBytes,
          out.totalLength,
          out.tos,
          out.ttl,
          out.checksum,
          out.dontFragment,
          out.fragment
        ) ++
          Seq(out.protocol, out.source, out.destination, out.hasPorts, out.sourcePort, out.destinationPort)
        for ((field, expected) <- fields.zip(row.values.tail))
          assert(field.asInstanceOf[Bits].peek().litValue == expected, s"$clue ${field.instanceName}")
        val payload = row.values(3) - row.values(2)
        assert(out.payloadLength.peek().litValue == payload, clue)
        assert(out.ttlExpired.peek().litToBoolean == (row.values(5) <= 1), clue)
        val encap = if (ethernet) row.udpEncap else UdpEncap.none
        assert(out.udpEncap.peek().litValue == encap.litValue, clue)
        val least = if (encap == UdpEncap.esp) 12 else 4
        if (payload >= least)
          assert(out.spi.peek().litValue == (if (ethernet) row.spi else row.values.last), clue)
      }
    }
  }

  for (ethernet <- Seq(true, false)) {
    test(s"every field is scapy's, a packet a cycle, ${if (ethernet) "frames" else "IP packets"}") {
      val packets = rows
        .filter(ethernet || _.etherClass == "ipv4")
        .map(row => row -> (if (ethernet) row.frame else row.frame.drop(14)))
      assert(packets.size > 100)
      simulate(new Ipv4Parser(ethernet)) { dut =>
        for (cycle <- 0 until packets.size + Ipv4Parser.latency) {
          dut.io.in.valid.poke(cycle < packets.size)
          if (cycle < packets.size) {
            val bytes = packets(cycle)._2
            dut.io.in.bits.bytes.poke(Packet.littleEndian(bytes.take(Ipv4Parser.windowBytes(ethernet))))
            dut.io.in.bits.length.poke(bytes.length)
          }
          val answer = cycle - Ipv4Parser.latency
          dut.io.out.valid.expect(answer >= 0)
          if (answer >= 0) {
            val (row, bytes) = packets(answer)
            check(
              dut.io.out.bits,
              row,
              bytes.length,
              ethernet,
              s"row $answer: ${row.frame.take(60).map(b => f"$b%02x").mkString}"
            )
            if (ethernet) dut.io.out.bits.macDestination.expect(Packet.littleEndian(bytes.take(6)))
          }
          dut.clock.step()
        }
      }
    }
  }
}
