// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.Assertions
import sallyport.common.registers.map.PuntReason
import sallyport.iface.headers.{Ecn, Ipv4Header}

import scala.io.Source

/**
 * What tests/vectors/test_inner_frames.py made: frames to both sides of the inner chip, and what
 * must become of each.
 */
trait InnerFrames extends Assertions {
  def bytes(hex: String): Seq[Byte] = hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq
  def hex(bytes: Seq[Byte]): String = bytes.take(100).map(b => f"$b%02x").mkString

  def rows(name: String): Seq[Seq[String]] =
    Source.fromResource(name).getLines().filterNot(_.startsWith("#")).map(_.split(" ").toSeq).toSeq

  /** An IP packet on the way to the link. */
  def onward(ip: Seq[Byte], sa: Int, bypass: Boolean): LinkPacket = {
    val v6 = ip.head >> 4 == 6
    val tos = if (v6) ip.head << 4 & 0xf0 | ip(1) >> 4 & 0xf else ip(1) & 0xff
    LinkPacket(ip, sa, bypass, tos, v6 || (ip(6) & 0x40) != 0, if (v6) 41 else 4)
  }

  /** @param expected the packets for the link: none, the packet, or its fragments */
  case class Encrypt(counter: String, expected: Seq[LinkPacket], frame: Seq[Byte]) {

    /** Bytes of the IP packet that goes to the link, before it is cut. */
    def packetBytes: Int = Ipv4Header.bytes + expected.map(_.bytes.length - Ipv4Header.bytes).sum

    /** Every counter that it moves. */
    def counters: Seq[String] =
      if (expected.size < 2) Seq(counter)
      else expected.map(_ => counter) ++ expected.tail.map(_ => "frag_split") :+ "frag_packets"
  }

  val encrypts: Seq[Encrypt] = rows("inner_encrypt.txt").map { case Seq(counter, sa, bypass, frame, out) =>
    val packets = out.split(",").toSeq.filter(_ != "-").map(digits => onward(bytes(digits), sa.toInt, bypass == "1"))
    Encrypt(counter, packets, bytes(frame))
  }

  val reasons = Map(
    "punt_arp" -> PuntReason.arp,
    "punt_local" -> PuntReason.local,
    "punt_link_local" -> PuntReason.linkLocal,
    "punt_vlan" -> PuntReason.vlan,
    "punt_fragment" -> PuntReason.fragment,
    "punt_other" -> PuntReason.other,
    "punt_extension_headers" -> PuntReason.extensionHeaders,
    "punt_policy" -> PuntReason.policy,
    "punt_ttl" -> PuntReason.ttl,
    "punt_mtu" -> PuntReason.mtu,
    "punt_nd" -> PuntReason.nd,
    "punt_resolution" -> PuntReason.resolution,
    "punt_tunnel" -> PuntReason.tunnel,
    "punt_clear" -> PuntReason.clear,
    "punt_tunnel_mtu" -> PuntReason.tunnelMtu,
    "punt_clear_mtu" -> PuntReason.clearMtu,
    "punt_tunnel_ttl" -> PuntReason.tunnelTtl,
    "punt_clear_ttl" -> PuntReason.clearTtl,
    "punt_tunnel_route" -> PuntReason.tunnelRoute,
    "punt_clear_route" -> PuntReason.clearRoute
  )

  def expect[A](got: Seq[A], want: Seq[A], clue: String)(show: A => String): Unit = {
    for (((g, w), i) <- got.zip(want).zipWithIndex) assert(g == w, s"$clue $i\n  got  ${show(g)}\n  want ${show(w)}")
    assert(got.size == want.size, s"$clue: ${got.size} of ${want.size}")
  }

  /** For comparison where a frame may overtake one that may be a fragment. */
  def sorted(packets: Seq[LinkPacket]): Seq[LinkPacket] =
    packets.sortBy(p => p.bytes.map(b => f"$b%02x").mkString + s" ${p.sa} ${p.bypass}")

  def show(packet: LinkPacket): String = packet.copy(bytes = Nil).toString + hex(packet.bytes)

  /** Sums of counters by name, bytes and receive counts aside. */
  def count(names: Seq[String]): Map[String, BigInt] = names.groupBy(identity).map { case (name, all) =>
    name -> BigInt(all.size)
  }

  /** @param out the frame at the port, or the one for the CPU */
  case class Decrypt(counter: String, packet: LinkPacket, out: Option[Seq[Byte]]) {
    def frame: Option[Seq[Byte]] = out.filter(_ => counter == "tx_frames")

    /** Reason, SA and frame. */
    def punt: Option[(Int, Int, Seq[Byte])] = out.filter(_ => frame.isEmpty).map(packet =>
      (reasons(counter), if (this.packet.bypass) 0 else this.packet.sa, packet)
    )

    /** Every counter that it moves. */
    def counters: Seq[String] = counter +: Seq("ecn_unexpected").filter(_ => out.nonEmpty && hasUnusedEcn)

    private def hasUnusedEcn: Boolean = {
      val second = packet.bytes(1).toInt
      !packet.bypass && unusedEcn((if (packet.nextHeader == 41) second >> 4 & 3 else second & 3, packet.tos & 3))
    }
  }

  /**
   * RFC 6040 figure 4: the inner and outer fields that it marks as unused together, "(!!!)" or
   * "(!)", and does not drop.
   */
  val unusedEcn: Set[(Int, Int)] = {
    import Ecn._
    Set((notEct, ect0), (notEct, ect1), (ect1, ect0), (ce, ect1))
  }

  val decrypts: Seq[Decrypt] = rows("inner_decrypt.txt").map {
    case Seq(counter, sa, sequence, nextHeader, tos, bypass, packet, frame) =>
      Decrypt(
        counter,
        LinkPacket(
          bytes(packet),
          sa.toInt,
          bypass == "1",
          tos.toInt,
          nextHeader = nextHeader.toInt,
          sequence = BigInt(sequence)
        ),
        Option.when(frame != "-")(bytes(frame))
      )
  }

  /** Cycles a packet of `count` packets, first to last. */
  def pace(starts: Seq[Int], count: Int): Double = {
    assert(starts.size == count)
    (starts.last - starts.head).toDouble / (count - 1)
  }
}
