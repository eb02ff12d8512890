// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.fragmentation

import chisel3._
import sallyport.common.stream.{Packet, PacketStream, StreamHarness, StreamMatrix}
import sallyport.iface.headers.{Ipv4Header, Ipv6Header}

import scala.io.Source
import scala.util.Random

/** Metadata of a packet under test: how it is cut, and the length that a fragment's replaces. */
private class CutMeta extends Bundle {
  val cut = new FragmentCut
  val length = UInt(PacketStream.lengthBits.W)
}

/** A line of the table that tests/vectors/test_fragmenter_packets.py writes. */
private case class CutCase(
    before: Int,
    v6: Boolean,
    identification: BigInt,
    units: Int,
    whole: Seq[Byte],
    pieces: Seq[Seq[Byte]]
)

class FragmenterSpec extends StreamMatrix {
  private def hex(digits: String): Seq[Byte] = digits.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq
  private def filler(bytes: Int): Seq[Byte] = (0 until bytes).map(n => (37 * n + n / 256).toByte)

  /** `words` of a line. */
  private def cutCase(words: Seq[String]): CutCase = {
    val (before, v6) = (words.head.toInt, words(1) == "6")
    val Array(first, rest) = words(4).split("/")
    val whole = hex(first) ++ filler(rest.toInt)
    val payload = whole.drop(before + (if (v6) Ipv6Header.bytes else Ipv4Header.bytes))
    val pieces = words.drop(5).map { word =>
      val Array(headers, start, end) = word.split("/")
      hex(headers) ++ payload.slice(start.toInt, end.toInt)
    }
    CutCase(before, v6, BigInt(words(2)), words(3).toInt, whole, pieces)
  }
  private val cases = Source
    .fromResource("fragmenter_packets.txt")
    .getLines()
    .filterNot(_.startsWith("#"))
    .map(line => cutCase(line.split(" ").toSeq))
    .toSeq

  private val lengthBits = PacketStream.lengthBits
  private def meta(units: Int, v6: Boolean, identification: BigInt, length: Int): BigInt =
    (((((BigInt(units) << 1) | (if (v6) 1 else 0)) << 32) | identification) << lengthBits) | length

  for (before <- Seq(14, 0))
    test(s"every packet becomes the fragments that scapy makes, others pass; IP header at byte $before") {
      val random = new Random(before)
      // The cut ones, and among them such as pass with whatever they hold: of one beat up to
      // the longest.
      val cut = cases.filter(_.before == before).map { c =>
        Packet(c.whole, meta(c.units, c.v6, c.identification, c.whole.length)) ->
          c.pieces.map(p => Packet(p, meta(c.units, c.v6, c.identification, p.length)))
      }
      val pass = Seq(1, 60, 64, 65, 128, 129, 1514, 9596).flatMap(Seq.fill(4)(_)).map { length =>
        val packet = Packet.random(length, random)
        val whole = packet.copy(meta = meta(0, v6 = random.nextBoolean(), BigInt(32, random), length))
        whole -> Seq(whole)
      }
      val sent = random.shuffle(cut ++ pass)
      val becomes = sent.toMap
      checkMatrix(
        new StreamHarness(new CutMeta, new CutMeta, depth = 8192)(h => {
          val fragmenter = Module(new Fragmenter(new CutMeta, before)(_.cut)((meta, bytes) => {
            val resized = WireDefault(meta)
            resized.length := bytes
            resized
          }))
          fragmenter.io.in <> h.in
          h.out <> fragmenter.io.out
        }),
        _ => sent.map(_._1),
        slack = 16 + cut.map(_._2.size * (FragmentHeader.latency + 3)).sum
      )(becomes)
    }
}
