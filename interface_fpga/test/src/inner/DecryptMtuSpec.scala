// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.InnerRegs

/**
 * What leaves the red port under its MTU. Judged by scapy: tests/vectors/inner_frames/red_mtu.py
 * has the packets.
 */
class DecryptMtuSpec extends AnyFunSuite with InnerPathsModel {

  /** @param out what leaves, in one frame or in fragments, or the frame for the CPU */
  private case class Row(mtu: Int, counter: String, packet: LinkPacket, out: Seq[Seq[Byte]]) {
    def sent: Seq[Seq[Byte]] = if (counter == "tx_frames") out else Nil
    def counters: Seq[String] = sent.drop(1).flatMap(_ => Seq("tx_frames", "red_frag_split")) ++
      Seq("red_frag_packets").filter(_ => sent.size > 1) :+ counter
  }

  private val table: Seq[Row] = rows("inner_red_mtu.txt").map {
    case Seq(mtu, counter, sa, nextHeader, bypass, packet, out) =>
      val sent = LinkPacket(bytes(packet), sa.toInt, bypass == "1", nextHeader = nextHeader.toInt, sequence = 1)
      Row(mtu.toInt, counter, sent, out.split(",").toSeq.filter(_ != "-").map(bytes))
  }

  test("packets around every MTU are cut, go to the CPU or pass, as scapy says, under their own counters") {
    assert(table.map(_.counter).toSet.size == 6)
    simulatePaths { (_, bench) =>
      bench.start()
      bench.bus.write(InnerRegs.limitTunnelMtu, 0)
      for ((mtu, rows) <- table.groupBy(_.mtu).toSeq.sortBy(_._1)) {
        bench.bus.write(InnerRegs.portMtu, mtu)
        bench.idle(20)
        val before = bench.counters()
        bench.frames.clear()
        bench.punts.clear()
        rows.foreach(row => bench.fromLink(row.packet))
        bench.idle(1500)
        expect(bench.frames.toSeq, rows.flatMap(_.sent), s"MTU $mtu, frame")(hex)
        val punted = rows.filter(row => reasons.contains(row.counter))
        expect(bench.punts.toSeq, punted.map(row => reasons(row.counter) -> row.out.head), s"MTU $mtu, for the CPU") {
          case (reason, frame) => s"$reason ${hex(frame)}"
        }
        val moved = count(rows.flatMap(_.counters)) + ("link_rx_packets" -> BigInt(rows.size))
        assert(bench.balanced(before) - "tx_bytes" == moved, s"MTU $mtu")
      }
    }
  }

  test("those for the CPU have two policers, by the way they came, and traffic has no part in them") {
    simulatePaths { (_, bench) =>
      bench.start()
      bench.bus.write(InnerRegs.portMtu, 1500)
      val (tunnels, clears) = (InnerRegs.LimitTunnelMtu, InnerRegs.LimitClearMtu)
      bench.bus.write(InnerRegs.limitTunnelMtu, tunnels.rate.put(1) | tunnels.burst.put(2))
      bench.bus.write(InnerRegs.limitClearMtu, clears.rate.put(1) | clears.burst.put(1))
      bench.idle(40)
      def first(counter: String): Row = table.find(row => row.mtu == 1500 && row.counter == counter).get
      val (tunnel, clear) = (first("punt_tunnel_mtu"), first("punt_clear_mtu"))
      val cut = table.find(row => row.mtu == 1500 && row.sent.size == 2).get
      val before = bench.counters()
      for (row <- Seq.fill(4)(Seq(tunnel, cut, clear)).flatten) bench.fromLink(row.packet)
      bench.idle(300)
      val moved = Map[String, BigInt](
        "link_rx_packets" -> 12,
        "tx_frames" -> 8,
        "red_frag_packets" -> 4,
        "red_frag_split" -> 4,
        "punt_tunnel_mtu" -> 2,
        "punt_clear_mtu" -> 1,
        "drop_punt_red_mtu" -> 5
      )
      assert(bench.balanced(before) - "tx_bytes" == moved)
      assert(bench.frames.toSeq == Seq.fill(4)(cut.sent).flatten)
    }
  }

  test("fragments of 1500 B leave at the rate of the wire") {
    simulatePaths { (_, bench) =>
      bench.start()
      bench.bus.write(InnerRegs.portMtu, 1500)
      bench.idle(20)
      val cut = table.find(row => row.mtu == 1500 && row.sent.size == 2 && row.sent.forall(_.length == 14 + 1500)).get
      for (_ <- 0 until 50) bench.fromLink(cut.packet)
      bench.idle(200)
      assert(bench.frames.toSeq == Seq.fill(50)(cut.sent).flatten)
      val cycles = pace(bench.frameStarts.toSeq, 100)
      // With FCS, preamble and gap, at 100 Gb/s and 300 MHz.
      assert(cycles <= (14 + 1500 + 4 + 20) * 8 * 0.003, cycles)
    }
  }
}
