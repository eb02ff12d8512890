// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import scala.io.Source

/** A packet of scapy's and its fragments, as scapy cut it. */
case class ScapyCut(packet: Seq[Byte], fragments: Seq[Fragment], arrivals: Seq[Arrival])

object ScapyCuts {
  private def bytes(hex: String): Seq[Byte] = hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq

  /**
   * A line a packet: family, source, destination, identification, protocol, bytes in front of the
   * IP header, packet; then for each fragment offset, more, bytes of header, bytes of payload,
   * place of its next header, packet.
   */
  def read(resource: String): Seq[ScapyCut] =
    Source.fromResource(resource).getLines().filterNot(_.startsWith("#")).map { line =>
      val words = line.split(" ").toSeq
      val link = bytes(words(6)).take(words(5).toInt)
      val of = Datagram(
        words.head == "6",
        link,
        BigInt(words(1), 16),
        BigInt(words(2), 16),
        words(3).toLong,
        words(4).toInt,
        Nil,
        Nil
      )
      val cut = words.drop(7).grouped(6).toSeq.map { f =>
        val packet = bytes(f(5))
        val (header, payload) = (f(2).toInt, f(3).toInt)
        val start = header + (if (of.ipv6) 8 else 0)
        val body = packet.slice(start, start + payload)
        val second = packet(link.length + 1)
        val ecn = (if (of.ipv6) second >> 4 else second) & 3
        val fragment = Fragment(of, f.head.toInt, f(1) == "1", packet.take(header), body, f(4).toInt, ecn)
        fragment -> Arrival(packet, Some(fragment))
      }
      ScapyCut(bytes(words(6)), cut.map(_._1), cut.map(_._2))
    }.toSeq
}
