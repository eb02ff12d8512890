// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite

/**
 * Whole frames that a bump in the wire passes in clear, and those that a captured outer chip
 * might.
 */
class ClearFramesSpec extends AnyFunSuite with InnerPathsModel {

  private def number(value: Int): Seq[Byte] = Seq((value >> 8).toByte, value.toByte)
  private val macs: Seq[Byte] = bytes("02000000000102000000000b")
  private val tpids = Seq(0x88a8, 0x8100)
  private val (ipv4, arp, ipv6, lldp) = (0x0800, 0x0806, 0x86dd, 0x88cc)

  private def frame(etherType: Int, payload: Seq[Byte], tagged: Int = 0): Seq[Byte] =
    (macs ++ tpids.takeRight(tagged).flatMap(number(_) ++ number(9)) ++ number(etherType) ++ payload).padTo(
      60,
      0.toByte
    )

  /** A frame as it comes over the link, whose metadata names `tagged` tags. */
  private def clear(frame: Seq[Byte], tagged: Int, ipWords: Int = 5): LinkPacket =
    LinkPacket(frame, 0, bypass = true, tos = tagged << 4 | ipWords, transport = true)

  private val v4 = bytes("4500001c000000004011000c" + "0a090001" + "0a000001" + "0007000800080000")
  private def to(address: String): Seq[Byte] = v4.take(16) ++ bytes(address) ++ v4.drop(20)
  private def linkLocal(last: String): String = "fe80" + "00" * 13 + last
  private def v6(nextHeader: Int, hopLimit: Int, destination: String, payload: String): Seq[Byte] =
    bytes(f"60000000${payload.length / 2}%04x$nextHeader%02x$hopLimit%02x" + linkLocal("11") + destination + payload)
  private val (right6, wrong6) = ("20010db8" + "00" * 11 + "01", "20010db8" + "00" * 11 + "02")
  private def icmp(kind: Int, hopLimit: Int, destination: String = wrong6): Seq[Byte] =
    v6(58, hopLimit, destination, f"$kind%02x00" + "00" * 22)
  private val udp = "0007000800080000"

  test("a frame in clear goes on by an inbound rule, or finds neighbours; the frame's own type and tags decide") {
    simulatePaths { (_, bench) =>
      bench.start()
      def sends(packet: LinkPacket, counter: String): Unit = {
        val before = bench.counters()
        bench.frames.clear()
        bench.fromLink(packet)
        bench.idle(120)
        assert(bench.balanced(before) - "tx_bytes" == Map("link_rx_packets" -> 1, counter -> 1), hex(packet.bytes))
        assert(bench.frames.toSeq == (if (counter == "tx_frames") Seq(packet.bytes) else Nil))
      }
      def passes(packet: LinkPacket): Unit = sends(packet, "tx_frames")
      def denied(packet: LinkPacket): Unit = sends(packet, "drop_in_clear_denied")

      val neighbours = Seq(
        arp -> bytes("0001080006040001" + "00" * 20),
        ipv6 -> icmp(133, 255),
        ipv6 -> icmp(137, 255, linkLocal("22"))
      )
      for (tagged <- 0 to 2) {
        for ((kind, packet) <- Seq(ipv4 -> v4, ipv6 -> v6(17, 1, right6, udp)) ++ neighbours) {
          passes(clear(frame(kind, packet, tagged), tagged))
          // A captured outer chip says that IP begins elsewhere.
          for (other <- 0 to 3 if other != tagged) denied(clear(frame(kind, packet, tagged), other))
        }
        denied(clear(frame(ipv4, to("0a000002"), tagged), tagged))
        denied(clear(frame(ipv6, v6(17, 1, wrong6, udp), tagged), tagged))
      }
      // Neighbour discovery that a router may have sent on, and ICMPv6 of other types, by rules.
      denied(clear(frame(ipv6, icmp(135, 254)), 0, 10))
      passes(clear(frame(ipv6, icmp(135, 254, right6)), 0, 10))
      for (kind <- Seq(132, 138)) denied(clear(frame(ipv6, icmp(kind, 255)), 0, 10))
      // A type that is not the packet's, and others than IP and ARP.
      for (kind <- Seq(ipv6, lldp)) denied(clear(frame(kind, v4), 0))
      denied(clear(frame(ipv4, icmp(135, 255)), 0))
      denied(clear(frame(0x8100, number(9) ++ number(ipv4) ++ v4, 2), 2))
      // A frame without a whole IP packet, or with too many headers, has no selectors.
      sends(clear(frame(ipv4, number(0x4400) ++ v4.drop(2)), 0), "drop_inner_malformed")
      sends(clear(frame(ipv4, v4.take(2) ++ number(1000) ++ v4.drop(4)), 0), "drop_inner_malformed")
      val options = (0 until 5).map(n => (if (n == 4) "11" else "3c") + "00" * 7).mkString
      sends(clear(frame(ipv6, v6(60, 64, right6, options + udp)), 0, 10), "drop_inner_extension_headers")
    }
  }
}
