// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{InnerRegs, InnerTables, SaUsageRow}

/** What a peer or a stranger can do to the management CPU by packets for the box, and to others. */
class DecryptPuntSpec extends AnyFunSuite with InnerPathsModel {
  private def first(counter: String): Decrypt = decrypts.find(_.counter == counter).get

  test("a flood out of a tunnel costs its own group alone; traffic, clear packets and red have theirs") {
    simulatePaths { (_, bench) =>
      bench.start()
      bench.bus.write(InnerRegs.limitTunnel, InnerRegs.LimitTunnel.rate.put(1) | InnerRegs.LimitTunnel.burst.put(3))
      bench.idle(40)
      val (tunnel, clear) = (first("punt_tunnel"), first("punt_clear"))
      val other = decrypts.find(row => row.counter == "tx_frames" && row.packet.sa == 6).get
      val red = encrypts.find(_.counter == "punt_local").get
      val before = bench.counters()
      for (_ <- 0 until 20) {
        bench.fromLink(tunnel.packet)
        bench.fromLink(other.packet)
      }
      for (_ <- 0 until 5) bench.fromLink(clear.packet)
      bench.receive(red.frame, gap = 200)
      val moved = Map[String, BigInt](
        "link_rx_packets" -> 45,
        "tx_frames" -> 20,
        "punt_tunnel" -> 3,
        "drop_punt_tunnel" -> 17,
        "punt_clear" -> 5,
        "rx_frames" -> 1,
        "punt_local" -> 1
      )
      assert(bench.balanced(before) - "tx_bytes" - "rx_bytes" == moved)
      assert(bench.frames.toSeq == Seq.fill(20)(other.frame.get))
    }
  }

  test("packets without TTL, to unknown hosts or without a next hop have two policers each, by the way they came") {
    simulatePaths { (_, bench) =>
      bench.start()
      val limits = Seq(
        ("punt_tunnel_ttl", InnerRegs.limitTunnelTtl, "drop_inner_ttl_expired"),
        ("punt_clear_ttl", InnerRegs.limitClearTtl, "drop_inner_ttl_expired"),
        ("punt_tunnel_route", InnerRegs.limitTunnelRoute, "drop_no_next_hop"),
        ("punt_clear_route", InnerRegs.limitClearRoute, "drop_no_next_hop")
      )
      for (((name, limit, dropped), burst) <- limits.zipWithIndex) {
        bench.bus.write(limit, InnerRegs.LimitClear.rate.put(1) | InnerRegs.LimitClear.burst.put(1 + burst))
        bench.idle(40)
        val row = first(name)
        val before = bench.counters()
        bench.punts.clear()
        // Each has a number of its own, for SAs with a window.
        for (n <- 0 until 5) bench.fromLink(row.packet.copy(sequence = row.packet.sequence + n))
        bench.idle(200)
        val moved = Map[String, BigInt]("link_rx_packets" -> 5, name -> (1 + burst), dropped -> (4 - burst))
        assert(bench.balanced(before) == moved, name)
        assert(bench.punts.toSeq == Seq.fill(1 + burst)(reasons(name) -> row.out.get), name)
      }
    }
  }

  test("a dead CPU costs packets for it, counted, and holds up no traffic") {
    simulatePaths { (dut, bench) =>
      bench.start()
      val (tunnel, other) = (first("punt_tunnel"), first("tx_frames"))
      dut.io.punt.ready.poke(false)
      val before = bench.counters()
      for (_ <- 0 until 300) bench.fromLink(tunnel.packet)
      bench.fromLink(other.packet)
      bench.idle(100)
      assert(bench.frames.toSeq == Seq(other.frame.get))
      dut.io.punt.ready.poke(true)
      bench.idle(900)
      val dead = bench.balanced(before)
      assert(dead("drop_inner_punt_overflow") > 0 && bench.punts.size == dead("punt_tunnel"))
      assert(dead("punt_tunnel") + dead("drop_inner_punt_overflow") == 300)
    }
  }

  test("a packet for the CPU counts once for its SA, and its hard limit stops it") {
    simulatePaths { (_, bench) =>
      bench.start()
      val row = first("punt_tunnel")
      val sa = row.packet.sa
      val limit = (BigInt(1) << 64) - 3
      assert(bench.bus.writeRow(InnerTables.inboundUsage, sa, SaUsageRow.packets.put(limit)))
      val before = bench.counters()
      for (_ <- 0 until 5) bench.fromLink(row.packet)
      bench.idle(200)
      val moved = Map[String, BigInt]("link_rx_packets" -> 5, "punt_tunnel" -> 3, "drop_inner_lifetime" -> 2)
      assert(bench.balanced(before) == moved)
      val usage = bench.bus.readRow(InnerTables.inboundUsage, sa).get
      assert(SaUsageRow.packets(usage) == 0 && SaUsageRow.bytes(usage) == 3 * (row.out.get.length - 14))
    }
  }
}
