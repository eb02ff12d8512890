// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{HopGroupRow, HostRow, NextHopRow, TunnelRow}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet
import sallyport.common.table.{CuckooHash, RowWrite, TablePort}
import sallyport.iface.identifiers.IdentifierSource
import sallyport.iface.prefixes.{PrefixImage, TestPrefix}

import java.net.InetAddress
import scala.collection.mutable
import scala.util.Random

/** Where clear packets go that leave by black (RFC 1812 5.2.4.3), among packets of tunnels. */
class ClearNextHopSpec extends AnyFunSuite with CompiledOnce {
  private val config = OuterConfig()
  private val own = "192.0.2.1"
  private val ownV6 = "2001:db8:1::1"

  private def number(text: String): BigInt = BigInt(1, InetAddress.getByName(text).getAddress)
  private def isV6(text: String): Boolean = text.contains(":")
  private def mac(n: Int): BigInt = BigInt("020000000000", 16) + n

  /** A packet of the link: clear, or of a tunnel, whose station is `mac(4)`. */
  private case class Sent(bytes: Seq[Byte], clear: Boolean, v6: Boolean = false, named: Int = 1)

  private val random = new Random(1812)
  private def esp(length: Int): Sent = Sent(Seq.fill(length)(random.nextInt(256).toByte), clear = false)
  private def clear(to: String, named: Int = 1, length: Int = 46): Sent = {
    val bytes = Array.fill(length)(random.nextInt(256).toByte)
    val v6 = isV6(to)
    bytes(0) = (if (v6) 0x60 else 0x45).toByte
    InetAddress.getByName(to).getAddress.copyToArray(bytes, if (v6) 24 else 16)
    Sent(bytes.toSeq, clear = true, v6, named)
  }

  private class Bench(dut: OuterEncryptHarness) {
    private val partial = mutable.Buffer.empty[Byte]
    val frames: mutable.Buffer[Seq[Byte]] = mutable.Buffer.empty
    val starts: mutable.Buffer[Int] = mutable.Buffer.empty
    var unresolved: Vector[(Boolean, BigInt)] = Vector.empty
    var cycle = 0

    /** Cycles out of 8 in which the port takes a beat. */
    var willing = 8

    private def flag(signal: Bool): Boolean = signal.peek().litToBoolean

    def step(): Unit = {
      val out = dut.io.mac
      out.ready.poke(random.nextInt(8) < willing)
      if (flag(out.valid) && flag(out.ready)) {
        if (partial.isEmpty) starts += cycle
        partial ++= Packet.bytesOf(out.bits.data.peek().litValue, out.bits.bytes.peek().litValue.toInt)
        if (flag(out.bits.last)) {
          frames += partial.toVector
          partial.clear()
        }
      }
      val host = dut.io.events.unresolved
      if (flag(host.valid)) unresolved :+= (flag(host.bits.v6), host.bits.address.peek().litValue)
      dut.clock.step()
      cycle += 1
    }
    def settle(cycles: Int = 400): Unit = for (_ <- 0 until cycles) step()

    def send(packet: Sent): Unit = {
      val in = dut.io.in
      val beats = packet.bytes.grouped(64).toSeq
      in.valid.poke(true)
      in.bits.meta.length.poke(packet.bytes.length)
      in.bits.meta.sa.poke(packet.named)
      in.bits.meta.bypass.poke(packet.clear)
      in.bits.meta.transport.poke(false)
      in.bits.meta.nextHeader.poke(if (packet.v6) 41 else 4)
      for ((beat, i) <- beats.zipWithIndex) {
        in.bits.data.poke(Packet.littleEndian(beat))
        in.bits.bytes.poke(beat.length)
        in.bits.last.poke(i == beats.length - 1)
        while (!flag(in.ready)) step()
        step()
      }
      in.valid.poke(false)
    }

    def counts: Map[String, Int] =
      dut.names.zip(dut.counts).map { case (name, count) => name -> count.peek().litValue.toInt }.toMap
    def since(before: Map[String, Int]): Map[String, Int] =
      counts.map { case (name, count) => name -> (count - before(name)) }.filter(_._2 != 0)

    private def write(table: TablePort, index: Int, row: BigInt): Unit = RowWrite(table, dut.clock, index, row)
    private val tables = dut.io.clearTables
    def hop(index: Int): Unit =
      write(tables.nextHop, index, NextHopRow.valid.put(1) | NextHopRow.mac.put(mac(index)))
    def host(address: String, of: BigInt): Unit = {
      val key = HostRow.addr.put(number(address)) | HostRow.version.put(if (isV6(address)) 6 else 4)
      val perWay = (1 << config.hostBits) / CuckooHash.ways
      val row = CuckooHash.row(0, key, HostRow.network.msb + 1, perWay)
      write(tables.host, row, key | HostRow.valid.put(1) | HostRow.mac.put(of))
    }
    def group(index: Int, hop: Option[Int]): Unit =
      write(
        tables.group,
        index,
        hop.fold(HopGroupRow.connected.put(1))(HopGroupRow.hop0.put(_)) | HopGroupRow.valid.put(1)
      )
    def prefixes(of: (String, Int, Int)*): Unit = {
      val image = PrefixImage.rows(of.map { case (address, length, group) =>
        val v6 = isV6(address)
        TestPrefix(v6, if (v6) number(address) >> 64 else number(address) << 32, length, group)
      })
      for ((index, row) <- image.nodes) write(tables.prefixes.node, index, row)
      for ((index, row) <- image.children) write(tables.prefixes.child, index, row)
      for ((index, row) <- image.roots) write(tables.prefixes.root, index, row)
    }

    def start(): Unit = {
      dut.io.enable.poke(true)
      dut.io.portMac.poke(OuterFrames.portMac)
      dut.io.portMtu.poke(1500)
      dut.io.punt.ready.poke(true)
      dut.io.box.own.v4.poke(number(own))
      dut.io.box.own.v6.poke(number(ownV6))
      dut.io.box.prefixV4.poke(24)
      dut.io.box.prefixV6.poke(64)
      while (!flag(dut.io.ready)) dut.clock.step()
      dut.io.seed.valid.poke(true)
      for (n <- 0 until IdentifierSource.seedWords) {
        dut.io.seed.bits.first.poke(n == 0)
        dut.io.seed.bits.word.poke(random.nextInt(1 << IdentifierSource.seedWordBits))
        dut.clock.step()
      }
      dut.io.seed.valid.poke(false)
      while (!flag(dut.io.seeded)) dut.clock.step()
      for (n <- 2 to 6) hop(n)
      write(
        dut.io.tunnelTable,
        1,
        TunnelRow.valid.put(1) | TunnelRow.srcAddr.put(number(own)) | TunnelRow.dstAddr.put(number("192.0.2.9")) |
          TunnelRow.ttl.put(64) | TunnelRow.nextHop.put(4)
      )
      host("192.0.2.20", mac(20))
      host("2001:db8:1::20", mac(21))
      group(1, None)
      group(2, Some(3))
      group(3, Some(5))
      prefixes(
        ("0.0.0.0", 0, 2),
        ("192.0.2.0", 24, 1),
        ("198.51.100.0", 24, 3),
        ("2001:db8:1::", 64, 1),
        ("2001:db8::", 32, 3)
      )
    }
  }

  /** Destinations, and the stations that they have. */
  private val led = Seq(
    "192.0.2.20" -> mac(20),
    "2001:db8:1::20" -> mac(21),
    "203.0.113.9" -> mac(3),
    "198.51.100.9" -> mac(5),
    "2001:db8:2::9" -> mac(5),
    "2001:db9::9" -> mac(2),
    "224.0.0.9" -> mac(2)
  )

  private def station(frame: Seq[Byte]): BigInt = Packet.littleEndian(frame.take(6))

  test("a clear packet goes to its host, by its longest prefix or to the next hop of its rule") {
    simulate(new OuterEncryptHarness(config)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      for ((to, want) <- led) {
        val packet = clear(to, named = 2)
        bench.send(packet)
        bench.settle(200)
        assert(station(bench.frames.last) == want, to)
        val frame = bench.frames.last
        assert(frame.slice(14, 14 + packet.bytes.length) == packet.bytes)
        assert(frame.slice(12, 14) == (if (packet.v6) Seq(0x86.toByte, 0xdd.toByte) else Seq[Byte](8, 0)))
      }
      assert(bench.frames.size == led.size && bench.unresolved.isEmpty)

      // Each fault alone, and the first of two.
      for (
        (packet, want) <- Seq(
          clear("192.0.2.21") -> Map("punt_host" -> 1, "unresolved_told" -> 1),
          clear("192.0.2.22", length = 1500) -> Map("punt_host" -> 1, "unresolved_told" -> 1),
          clear("192.0.2.22", length = 1501) -> Map("mtu" -> 1),
          clear("2001:db8:1::22") -> Map("punt_host" -> 1, "unresolved_told" -> 1),
          clear("2001:db9::9", named = 7) -> Map("punt_route" -> 1),
          clear("2001:db9::9", named = 0x102) -> Map("punt_route" -> 1),
          clear("2001:db9::9", named = 7, length = 1501) -> Map("mtu" -> 1),
          clear("198.51.100.9", length = 1501) -> Map("mtu" -> 1)
        )
      ) {
        val before = bench.counts
        bench.send(packet)
        bench.settle(200)
        assert(bench.since(before) == want)
      }
      assert(
        bench.unresolved == Vector("192.0.2.21", "192.0.2.22", "2001:db8:1::22").map(host => isV6(host) -> number(host))
      )
      dut.io.enable.poke(false)
      val before = bench.counts
      bench.send(clear("192.0.2.21", length = 1501))
      bench.settle(200)
      assert(bench.since(before) == Map("tx_disabled" -> 1))
    }
  }

  test("clear packets and packets of tunnels keep their order, at the rate of the port, with any gaps") {
    simulate(new OuterEncryptHarness(config)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      val sent = Seq.fill(600) {
        val length = 40 + random.nextInt(if (random.nextInt(4) == 0) 1200 else 60)
        if (random.nextBoolean()) esp(length) -> mac(4)
        else {
          val (to, want) = led(random.nextInt(led.size))
          clear(to, named = 2, length) -> want
        }
      }
      for (((packet, _), i) <- sent.zipWithIndex) {
        bench.willing = if (i / 100 % 2 == 0) 8 else 5
        if (i >= 200) for (_ <- 0 until random.nextInt(4)) bench.step()
        bench.send(packet)
      }
      bench.willing = 8
      bench.settle(3000)
      assert(bench.frames.size == sent.size)
      for (((packet, want), frame) <- sent.zip(bench.frames)) {
        assert(station(frame) == want)
        val headers = if (packet.clear) 14 else 34
        assert(frame.slice(headers, headers + packet.bytes.length) == packet.bytes)
      }

      // Latency from the last beat, alone; then of a packet of a tunnel right behind a clear one.
      for (
        (packet, most) <- Seq(esp(80) -> 29, clear("192.0.2.20", length = 80) -> (29 + OuterEncrypt.clearWait + 3))
      ) {
        bench.starts.clear()
        bench.send(packet)
        val end = bench.cycle - 1
        bench.settle()
        info(s"${if (packet.clear) "clear" else "ESP"}: ${bench.starts.head - end} cycles from the last beat")
        assert(bench.starts.head - end <= most)
      }

      for (
        (name, packets, wire) <- Seq(
          ("clear, 64 B", Seq(clear("192.0.2.20")), 84),
          ("clear, 65 B", Seq(clear("198.51.100.9", length = 51)), 89),
          ("clear of 64 B and ESP of 114 B in turn", Seq(clear("203.0.113.9"), esp(80)), (84 + 138) / 2)
        )
      ) {
        bench.starts.clear()
        for (_ <- 0 until 300; packet <- packets) bench.send(packet)
        bench.settle()
        val count = 300 * packets.size
        assert(bench.starts.length == count)
        val interval = (bench.starts.last - bench.starts.head) / (count - 1.0)
        info(f"$name: a frame every $interval%.2f cycles; the wire takes one every ${wire * 0.024}%.2f")
        assert(interval <= wire * 0.024)
      }
    }
  }
}
