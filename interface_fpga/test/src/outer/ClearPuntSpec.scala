// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{NextHopRow, OuterRegs, OuterTables, PuntReason}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet

import scala.util.Random

/** Clear packets that find no station at black, and the management CPU (RFC 1812 5.2.7.1). */
class ClearPuntSpec extends AnyFunSuite with CompiledOnce {
  import OuterCoreBench.Sent

  private val random = new Random(1122)
  private def bytes(hex: String): Seq[Byte] = OuterFrames.bytes(hex)
  private val portMac = Packet.bytesOf(OuterFrames.portMac, 6)
  private val station = bytes("020000000302")
  private val longest = 1500

  private def payload(length: Int): Seq[Byte] = Seq.fill(length)(random.nextInt(256).toByte)

  /** An IPv4 packet for a destination; its rule names a next-hop row. */
  private def packet(to: String, named: Int, length: Int): Sent = {
    val header = bytes("4500002e00000000" + "3f110000" + "0a010002" + to)
    Sent(header ++ payload(length - header.length), named, bypass = true)
  }
  private def toHost(length: Int = 46): Sent = packet("c0000209", named = 0, length)
  private def toNowhere(length: Int = 46): Sent = packet("c6336409", named = 7, length)
  private def toStation(length: Int = 46): Sent = packet("c6336409", named = 2, length)

  private def framed(packet: Sent, to: Seq[Byte]): Seq[Byte] = to ++ portMac ++ bytes("0800") ++ packet.payload
  private def punted(packet: Sent, reason: Int): Outcome = Outcome.Punt(reason, framed(packet, portMac))
  private def sent(packet: Sent): Seq[Byte] = framed(packet, station).padTo(60, 0.toByte)

  private val ports = OuterRegs.Control.txEnable.put(1) | OuterRegs.Control.rxEnable.put(1)

  /** The network 192.0.2.0/24 is at the port, without a host; next-hop row 2 leads to a station. */
  private def withBench(body: (OuterCoreHarness, OuterCoreBench) => Unit): Unit =
    simulate(new OuterCoreHarness(OuterConfig())) { dut =>
      val bench = new OuterCoreBench(dut)
      bench.start()
      bench.bus.write(OuterRegs.portMacLo, OuterFrames.portMac & 0xffffffffL)
      bench.bus.write(OuterRegs.portMacHi, OuterFrames.portMac >> 32)
      bench.bus.write(OuterRegs.localIpv4, BigInt("c0000201", 16))
      bench.bus.write(OuterRegs.localPrefix, 24)
      bench.bus.write(OuterRegs.portMtu, longest)
      val hop = NextHopRow.valid.put(1) | NextHopRow.mac.put(Packet.littleEndian(station))
      assert(bench.bus.writeRow(OuterTables.nextHop, 2, hop))
      bench.bus.write(OuterRegs.control, ports)
      body(dut, bench)
    }

  test("they go to the CPU as they would leave, to the port's own address; others keep their order") {
    withBench { (_, bench) =>
      val before = bench.counters()
      val packets = Seq.fill(12)(
        Seq(toStation(40 + random.nextInt(200)), toHost(40 + random.nextInt(200)), toNowhere(40 + random.nextInt(200)))
      ) :+ Seq(toHost(longest), toStation(longest), toNowhere(longest))
      packets.flatten.foreach(bench.send)
      bench.drain(1000)
      assert(bench.frames.toSeq == packets.flatten.filter(_.sa == 2).map(sent))
      val reasons = Map(0 -> PuntReason.clearHost, 7 -> PuntReason.clearRoute)
      assert(bench.punted.toSeq == packets.flatten.filter(_.sa != 2).map(p => punted(p, reasons(p.sa))))
      val moved = bench.balanced(before) - "tx_bytes"
      assert(moved == Map(
        "link_rx_packets" -> 39,
        "tx_frames" -> 13,
        "punt_clear_host" -> 13,
        "punt_clear_route" -> 13
      ))
      assert(bench.bus.read(OuterRegs.hostAddr0) == BigInt("c0000209", 16))
    }
  }

  test("one that is too long is dropped, and none goes to the CPU while the port is closed") {
    withBench { (_, bench) =>
      var before = bench.counters()
      Seq(toHost(longest + 1), toNowhere(longest + 1)).foreach(bench.send)
      bench.drain(1000)
      assert(bench.balanced(before) == Map("link_rx_packets" -> 2, "drop_mtu" -> 2))
      bench.bus.write(OuterRegs.control, OuterRegs.Control.rxEnable.put(1))
      before = bench.counters()
      Seq(toHost(), toNowhere()).foreach(bench.send)
      bench.drain(1000)
      assert(bench.balanced(before) == Map("link_rx_packets" -> 2, "drop_tx_disabled" -> 2))
      assert(bench.punted.isEmpty)
    }
  }

  test("each kind has a policer: a flood takes nothing from the other, from traffic or from the port's own groups") {
    withBench { (_, bench) =>
      val ping = OuterFrames.all.find(_.name == "icmp").get
      bench.bus.write(OuterRegs.localIpv4, OuterFrames.localIpv4)
      for (
        (flood, limit, other, names) <- Seq(
          (
            () => packet("cb007109", 0, 46),
            OuterRegs.limitClearHost,
            toNowhere _,
            ("punt_clear_host", "drop_unresolved", "punt_clear_route")
          ),
          (
            () => toNowhere(),
            OuterRegs.limitClearRoute,
            (n: Int) => packet("cb007109", 0, n),
            ("punt_clear_route", "drop_no_next_hop", "punt_clear_host")
          )
        )
      ) {
        bench.bus.write(limit, OuterRegs.LimitClearHost.rate.put(1) | OuterRegs.LimitClearHost.burst.put(3))
        bench.run(40)
        bench.clear()
        val before = bench.counters()
        for (_ <- 0 until 20) {
          bench.send(flood())
          bench.send(toStation())
        }
        bench.send(other(46))
        bench.receive(ping.bytes)
        bench.drain(1000)
        val moved = Map[String, BigInt](
          "link_rx_packets" -> 41,
          "tx_frames" -> 20,
          names._1 -> 3,
          names._2 -> 17,
          names._3 -> 1,
          "rx_frames" -> 1,
          "punt_icmp" -> 1
        )
        assert(bench.balanced(before) - "tx_bytes" - "rx_bytes" == moved)
        assert(bench.punted.contains(ping.outcome))
        bench.bus.write(limit, 0)
      }
    }
  }

  test("a dead CPU costs packets for it, counted, and holds up neither path") {
    withBench { (dut, bench) =>
      for (limit <- Seq(OuterRegs.limitClearHost, OuterRegs.limitClearRoute, OuterRegs.limitIcmp))
        bench.bus.write(limit, 0)
      bench.bus.write(OuterRegs.localIpv4, OuterFrames.localIpv4)
      val ping = OuterFrames.all.find(_.name == "icmp").get
      dut.io.punt.ready.poke(false)
      val before = bench.counters()
      for (_ <- 0 until 200) bench.send(toNowhere(120))
      bench.send(toStation())
      bench.drain(1000)
      assert(bench.frames.size == 1)
      dut.io.punt.ready.poke(true)
      for (_ <- 0 until 50) bench.receive(ping.bytes)
      bench.drain(3000)
      val dead = bench.balanced(before)
      assert(dead("drop_clear_punt_overflow") > 0)
      assert(dead("punt_clear_route") + dead("drop_clear_punt_overflow") == 200 && dead("punt_icmp") == 50)
      // Those of both ways, each whole.
      val ofPing = bench.punted.count(_ == ping.outcome)
      assert(ofPing == 50 && bench.punted.size == 50 + dead("punt_clear_route"))
    }
  }
}
