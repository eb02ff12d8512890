// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{HostRow, InnerRegs, InnerTables}
import sallyport.common.registers.map.InnerRegs.{HostControl, HostEvent}
import sallyport.common.table.CuckooHash

/** Packets to hosts straight behind the red port, decrypted and in clear (RFC 1812 5.2.4.3). */
class HostPathSpec extends AnyFunSuite with InnerPathsModel {

  private def key(address: String): BigInt =
    HostRow.addr.put(InnerSetup.address(address)) | HostRow.version.put(InnerSetup.version(address))

  private def index(address: String, way: Int): Int = {
    val perWay = (1 << config.hostBits) / CuckooHash.ways
    way * perWay + CuckooHash.row(way, key(address), HostRow.network.msb + 1, perWay)
  }

  private def write(bench: InnerBench, address: String, mac: String, way: Int = 0): Unit = {
    val row = key(address) | HostRow.valid.put(1) | HostRow.mac.put(InnerSetup.mac(mac))
    assert(bench.bus.writeRow(InnerTables.host, index(address, way), row))
  }

  private def clear(bench: InnerBench, address: String, way: Int): Unit =
    assert(bench.bus.writeRow(InnerTables.host, index(address, way), 0))

  private def events(bench: InnerBench): Seq[(Int, BigInt)] = {
    val words = Seq(InnerRegs.hostAddr0, InnerRegs.hostAddr1, InnerRegs.hostAddr2, InnerRegs.hostAddr3)
    Iterator
      .continually(bench.bus.read(InnerRegs.hostEvent))
      .takeWhile(HostEvent.valid(_) == 1)
      .map { value =>
        val address = words.zipWithIndex.map { case (word, n) => bench.bus.read(word) << (32 * n) }.sum
        bench.bus.write(InnerRegs.hostControl, HostControl.pop.put(1))
        HostEvent.version(value).toInt -> address
      }
      .toSeq
  }

  test(
    "the Ethernet address is that of the packet's own destination, and a packet to one without goes to the CPU, and the host is named"
  ) {
    simulatePaths { (_, bench) =>
      bench.start()
      // scapy's packets in IPv4 and IPv6, decrypted and in clear, under row 0 or 7.
      val sent = decrypts.filter(row => row.frame.nonEmpty && row.packet.sequence < 5000)
      def to(row: Decrypt): (Int, BigInt) = {
        val ip = row.packet.bytes.map(_ & 0xff)
        val at = if (ip.head >> 4 == 6) 24 until 40 else 16 until 20
        (ip.head >> 4) -> at.foldLeft(BigInt(0))((number, byte) => number << 8 | ip(byte))
      }
      val addresses = sent.map(to).distinct
      assert(addresses.map(_._1).toSet == Set(4, 6), "hosts of both versions")
      assert(Seq(true, false).forall(clear => sent.exists(_.packet.bypass == clear)))

      def send(): Seq[Seq[Byte]] = {
        bench.frames.clear()
        sent.foreach(row => bench.fromLink(row.packet))
        bench.idle(200)
        bench.frames.toSeq
      }
      val before = bench.counters()
      expect(send(), sent.map(_.frame.get), "without rows of hosts")(hex)
      assert(events(bench).isEmpty)

      // Windows have moved: only packets of SAs that do not check, and in clear, come again.
      val again = sent.filter(row => row.packet.bypass || row.packet.sa == 6)
      assert(again.exists(_.packet.bypass) && again.exists(!_.packet.bypass))
      def frames(): Seq[Seq[Byte]] = {
        bench.frames.clear()
        again.foreach(row => bench.fromLink(row.packet))
        bench.idle(200)
        bench.frames.toSeq
      }
      write(bench, "10.0.0.1", "02bb00000001", way = 1)
      write(bench, "2001:db8::1", "02bb00000006", way = 2)
      val known = Map(to4("10.0.0.1") -> "02bb00000001", to4("2001:db8::1") -> "02bb00000006")
      def redirected(row: Decrypt): Seq[Byte] =
        known.get(to(row)).fold(row.frame.get)(mac => bytes(mac) ++ row.frame.get.drop(6))
      expect(frames(), again.map(redirected), "with two hosts")(hex)
      assert(again.exists(row => known.contains(to(row))))

      // Row 0 goes, and a host: those that name that row and have no other are not known.
      assert(bench.bus.writeRow(InnerTables.nextHop, 0, 0))
      clear(bench, "2001:db8::1", way = 2)
      val (gone, stay) = again.partition(row => to(row)._1 == 6 && row.frame.get.take(6) == bytes("02aa00000000"))
      assert(gone.nonEmpty && stay.exists(to(_)._1 == 6))
      val without = stay.map(row => if (to(row)._1 == 6) row.frame.get else redirected(row))
      expect(frames(), without, "without row 0")(hex)
      val counted = bench.balanced(before)
      val (inClear, decrypted) = gone.partition(_.packet.bypass)
      for ((name, rows) <- Seq("punt_tunnel_host" -> decrypted, "punt_clear_host" -> inClear))
        assert(counted.getOrElse(name, BigInt(0)) == rows.size)
      assert(events(bench).toSet == gone.map(to).toSet)
    }
  }
  private def to4(address: String): (Int, BigInt) = InnerSetup.version(address) -> InnerSetup.address(address)

  test("packets to hosts leave as fast as all others, and those to unknown hosts cost no time") {
    simulatePaths { (_, bench) =>
      bench.start()
      val good = decrypts.find(row => row.counter == "tx_frames" && row.packet.sa == 6).get.packet
      val short = good.copy(bytes = good.bytes.take(48))
      for (n <- 1 to 4) write(bench, s"198.51.100.${10 + n}", f"02cc000000$n%02x", way = n - 1)
      def packet(n: Int): LinkPacket = {
        val header = Packet4.to(short.bytes, Seq(198, 51, 100, 10 + n))
        short.copy(bytes = header)
      }
      val count = 200
      bench.frameStarts.clear()
      for (n <- 0 until count) bench.fromLink(packet(1 + n % 4))
      bench.idle(200)
      assert(bench.frames.takeRight(4).map(frame => hex(frame.take(6))) == (1 to 4).map(n => f"02cc000000$n%02x"))
      assert(pace(bench.frameStarts.toSeq, count) <= 2.05)
      // Row 0, whose station stands for hosts without a row, goes.
      assert(bench.bus.writeRow(InnerTables.nextHop, 0, 0))
      val limit = InnerRegs.LimitTunnelHost
      bench.bus.write(InnerRegs.limitTunnelHost, limit.rate.put(1) | limit.burst.put(7))
      bench.idle(40)
      val before = bench.counters()
      for (n <- 0 until count) bench.fromLink(packet(5 + n % 2))
      bench.idle(200)
      val counted = bench.balanced(before)
      assert(counted("punt_tunnel_host") == 7 && counted("drop_unresolved") == count - 7, counted)
      assert(events(bench) == Seq(15, 16).map(n => to4(s"198.51.100.$n")))
    }
  }
}
