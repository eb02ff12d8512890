// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.forwarding

import chisel3._
import chisel3.util.Valid
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{HopGroupRow, HostRow, NextHopRow}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.{CuckooHash, FlippedCuckooTable, RowWrite, TablePort}
import sallyport.iface.prefixes.{HopGroups, PrefixImage, PrefixRows, PrefixTurns, TestPrefix}

import java.net.InetAddress
import scala.util.Random

/** [[NextHopLookup]] with its trees, whose rows of hosts have flipped bits. */
private class FlippedHosts(hosts: Int, hops: Int) extends Module {
  val flips = IO(FlippedCuckooTable.flips(HostRow.bits))
  private val lookup = Module(new NextHopLookup(hosts, hops, FlippedCuckooTable.table(flips)))
  private val turns = Module(new PrefixTurns(256, networks = 64))
  val io = IO(new Bundle {
    val box = Input(chiselTypeOf(lookup.io.box))
    val packet = Flipped(Valid(new NextHopQuery))
    val network = Input(chiselTypeOf(lookup.io.network))
    val named = Input(UInt(16.W))
    val found = Output(new NextHop)
    val hostTable = Flipped(new TablePort)
    val nextHopTable = Flipped(new TablePort)
    val groupTable = Flipped(new TablePort)
    val prefixTables = chiselTypeOf(turns.io.tables)
    val ready = Output(Bool())
  })
  lookup.io.box := io.box
  lookup.io.packet := io.packet
  lookup.io.network := io.network
  lookup.io.named := io.named
  io.found := lookup.io.found
  lookup.io.hostTable <> io.hostTable
  lookup.io.nextHopTable <> io.nextHopTable
  lookup.io.groupTable <> io.groupTable
  turns.io.tables <> io.prefixTables
  turns.io.route := lookup.io.route
  lookup.io.group := turns.io.group
  lookup.io.groupUpset := turns.io.groupUpset
  turns.io.policy.valid := false.B
  turns.io.policy.bits := DontCare
  io.ready := lookup.io.ready && turns.io.ready
}

/** Which station a packet goes to (RFC 1812 5.2.4.3). */
class NextHopLookupSpec extends AnyFunSuite with CompiledOnce {
  private val hosts = 64
  private val hops = 16
  private val own = "10.1.0.1"
  private val ownV6 = "2001:db8:1::1"

  private case class Station(mac: BigInt, tags: Int = 0, tagBytes: BigInt = 0)
  private case class Query(to: String, named: Int, from: String = "192.0.2.1", label: Int = 0, network: Int = 0)
  private sealed trait Answer
  private case class To(station: Station) extends Answer
  private case object Unresolved extends Answer
  private case object Nowhere extends Answer
  private case object Upset extends Answer

  private def number(text: String): BigInt = BigInt(1, InetAddress.getByName(text).getAddress)
  private def version(text: String): Int = if (text.contains(":")) 6 else 4

  private def hostRow(address: String, station: Station): BigInt =
    HostRow.addr.put(number(address)) | HostRow.version.put(version(address)) | HostRow.valid.put(1) |
      HostRow.mac.put(station.mac) | HostRow.tags.put(station.tags) | HostRow.tagBytes.put(station.tagBytes)

  private def hopRow(station: Station, subnet: Boolean): BigInt =
    NextHopRow.valid.put(1) | NextHopRow.mac.put(station.mac) | NextHopRow.tags.put(station.tags) |
      NextHopRow.tagBytes.put(station.tagBytes) | NextHopRow.subnet.put(if (subnet) 1 else 0)

  private def place(address: String, way: Int, network: Int = 0): Int = {
    val key = HostRow.addr.put(number(address)) | HostRow.version.put(version(address)) | HostRow.network.put(network)
    val perWay = hosts / CuckooHash.ways
    way * perWay + CuckooHash.row(way, key, HostRow.network.msb + 1, perWay)
  }

  private class Bench(dut: FlippedHosts) {
    def start(): Unit = {
      dut.flips.foreach(_.poke(0))
      dut.io.packet.valid.poke(false)
      dut.io.network.poke(0)
      val prefixes = dut.io.prefixTables
      for (
        table <-
          Seq(dut.io.hostTable, dut.io.nextHopTable, dut.io.groupTable, prefixes.node, prefixes.child, prefixes.root)
      ) table.request.valid.poke(false)
      dut.io.box.own.v4.poke(number(own))
      dut.io.box.own.v6.poke(number(ownV6))
      dut.io.box.prefixV4.poke(24)
      dut.io.box.prefixV6.poke(64)
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      while (!dut.io.ready.peek().litToBoolean) dut.clock.step()
    }

    def write(table: TablePort, index: Int, row: BigInt): Unit = RowWrite(table, dut.clock, index, row)
    def host(address: String, station: Station, way: Int = 0, network: Int = 0): Unit = {
      val row = hostRow(address, station) | HostRow.network.put(network)
      write(dut.io.hostTable, place(address, way, network), row)
    }
    def hop(index: Int, station: Station, subnet: Boolean = false): Unit =
      write(dut.io.nextHopTable, index, hopRow(station, subnet))

    def group(index: Int, to: Int*): Unit = {
      val fields = Seq(HopGroupRow.hop0, HopGroupRow.hop1, HopGroupRow.hop2, HopGroupRow.hop3)
      val row = fields.zip(to).map { case (field, hop) => field.put(hop) }.fold(BigInt(0))(_ | _)
      val kind = if (to.isEmpty) HopGroupRow.connected.put(1) else HopGroupRow.last.put(to.length - 1)
      write(dut.io.groupTable, index, row | kind | HopGroupRow.valid.put(1))
    }
    def prefixes(of: (String, Int, Int)*): PrefixRows = {
      val image = PrefixImage.rows(of.map { case (address, length, group) =>
        val v6 = version(address) == 6
        TestPrefix(v6, if (v6) number(address) >> 64 else number(address) << 32, length, group)
      })
      for ((index, row) <- image.nodes) write(dut.io.prefixTables.node, index, row)
      for ((index, row) <- image.children) write(dut.io.prefixTables.child, index, row)
      for ((index, row) <- image.roots) write(dut.io.prefixTables.root, index, row)
      image
    }

    private def answer(): Answer = {
      val found = dut.io.found
      if (found.hostUpset.peek().litToBoolean || found.prefixUpset.peek().litToBoolean) Upset
      else if (found.known.peek().litToBoolean) {
        assert(!found.unresolved.peek().litToBoolean)
        To(
          Station(
            found.mac.peek().litValue,
            found.tags.count.peek().litValue.toInt,
            found.tags.bytes.peek().litValue
          )
        )
      } else if (found.unresolved.peek().litToBoolean) Unresolved
      else Nowhere
    }

    /** The answers to queries of every second cycle. */
    def ask(queries: Seq[Query]): Seq[Answer] = {
      def at(cycle: Int): Option[Query] = Option.when(cycle % 2 == 0)(queries.lift(cycle / 2)).flatten
      val answers = for (cycle <- 0 until 2 * queries.size + NextHopLookup.latency) yield {
        val query = at(cycle)
        dut.io.packet.valid.poke(query.isDefined)
        for (Query(to, _, from, label, _) <- query) {
          dut.io.packet.bits.v6.poke(version(to) == 6)
          dut.io.packet.bits.destination.poke(number(to))
          dut.io.packet.bits.source.poke(number(from))
          dut.io.packet.bits.label.poke(label)
        }
        for (query <- at(cycle - 1)) dut.io.network.poke(query.network)
        for (query <- at(cycle - NextHopLookup.namedTime)) dut.io.named.poke(query.named)
        val answered = answer()
        dut.clock.step()
        answered
      }
      answers.drop(NextHopLookup.latency).grouped(2).map(_.head).toSeq
    }
    def ask(to: String, named: Int): Answer = ask(Seq(Query(to, named))).head
  }

  private def station(n: Int): Station = Station(BigInt(0x020000000000L) + n)

  test("hosts at the port, gateways, unknown hosts and nothing at all, at a packet every second cycle") {
    simulate(new FlippedHosts(hosts, hops)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      bench.hop(3, station(3))
      bench.hop(4, station(4), subnet = true)
      bench.hop(6, Station(0x66, 1, 0x44332211L))
      bench.host("10.1.0.9", station(9))
      bench.host("10.1.0.10", Station(0x10, 2, BigInt("8877665544332211", 16)), way = 3)
      bench.host("2001:db8:1::9", station(90), way = 1)
      // Of another network of the port, and the same number in the other version.
      bench.host("172.16.0.9", station(72), way = 2)

      val wants = Seq[(Query, Answer)](
        // A host's own address counts, under any named row.
        Query("10.1.0.9", 0) -> To(station(9)),
        Query("10.1.0.9", 3) -> To(station(9)),
        Query("10.1.0.9", 4) -> To(station(9)),
        Query("10.1.0.9", 5) -> To(station(9)),
        Query("10.1.0.9", 0xffff) -> To(station(9)),
        Query("10.1.0.10", 3) -> To(Station(0x10, 2, BigInt("8877665544332211", 16))),
        Query("2001:db8:1::9", 3) -> To(station(90)),
        Query("172.16.0.9", 3) -> To(station(72)),
        Query("::10.1.0.9", 3) -> To(station(3)),
        // No row, of the port's network.
        Query("10.1.0.11", 0) -> Unresolved,
        Query("10.1.0.11", 3) -> Unresolved,
        Query("10.1.0.11", 5) -> Unresolved,
        Query("10.1.0.11", 0x103) -> Unresolved,
        Query("10.1.0.11", 4) -> To(station(4)),
        Query("2001:db8:1::ffff", 3) -> Unresolved,
        // Below and above it, and of the other version.
        Query("10.0.255.255", 3) -> To(station(3)),
        Query("10.1.1.0", 3) -> To(station(3)),
        Query("2001:db8:0:ffff:ffff:ffff:ffff:ffff", 3) -> To(station(3)),
        Query("2001:db8:1:1::", 6) -> To(Station(0x66, 1, 0x44332211L)),
        // Row 0 is for hosts, and no other row that is empty or does not exist.
        Query("192.0.2.7", 0) -> Unresolved,
        Query("192.0.2.7", 5) -> Nowhere,
        Query("192.0.2.7", hops) -> Nowhere,
        Query("192.0.2.7", 0x103) -> Nowhere,
        // Groups are no hosts.
        Query("224.0.0.9", 0) -> Nowhere,
        Query("239.255.255.255", 3) -> To(station(3)),
        Query("255.255.255.255", 0) -> Nowhere,
        Query("ff02::9", 0) -> Nowhere,
        Query("ff05::9", 3) -> To(station(3)),
        Query("223.255.255.255", 0) -> Unresolved,
        Query("240.0.0.1", 0) -> Unresolved,
        Query("feff::", 0) -> Unresolved
      )
      for ((query, want) <- wants) assert(bench.ask(query.to, query.named) == want, query)
      val random = new Random(4)
      val mixed = Seq.fill(300)(wants(random.nextInt(wants.size)))
      for (((query, want), got) <- mixed.zip(bench.ask(mixed.map(_._1)))) assert(got == want, query)

      // Row 0 stands for all hosts without a row; and no longer when it is cleared.
      bench.hop(0, station(1000))
      for ((query, want) <- wants) {
        val group = Set("224.0.0.9", "255.255.255.255", "ff02::9")(query.to)
        val now = if (want == Unresolved || group) To(station(1000)) else want
        assert(bench.ask(query.to, query.named) == now, query)
      }
      bench.write(dut.io.nextHopTable, 0, 0)
      for ((query, want) <- wants) assert(bench.ask(query.to, query.named) == want, query)

      // A host moves, and goes.
      bench.host("10.1.0.9", station(99))
      assert(bench.ask("10.1.0.9", 3) == To(station(99)))
      bench.write(dut.io.hostTable, place("10.1.0.9", 0), 0)
      assert(bench.ask("10.1.0.9", 3) == Unresolved)

      // A port without addresses has no network; row 0 is for hosts all the same.
      dut.io.box.own.v4.poke(0)
      dut.io.box.own.v6.poke(0)
      dut.clock.step(2)
      assert(bench.ask("10.1.0.11", 3) == To(station(3)))
      assert(bench.ask("0.0.0.9", 3) == To(station(3)))
      assert(bench.ask("2001:db8:1::ffff", 3) == To(station(3)))
      assert(bench.ask("10.1.0.11", 0) == Unresolved)
      assert(bench.ask("10.1.0.10", 0).isInstanceOf[To])
    }
  }

  test("another network has its own hosts and routes, and neither the port's prefix nor row 0") {
    simulate(new FlippedHosts(hosts, hops)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      for (hop <- Seq(0, 3)) bench.hop(hop, station(hop))
      bench.host("10.1.0.9", station(9))
      bench.host("10.1.0.9", station(19), way = 1, network = 1)
      bench.host("10.1.0.9", station(29), way = 2, network = 32)
      bench.group(1, 3)
      bench.group(2)
      bench.group(4, 0)
      val image = bench.prefixes(("10.2.0.0", 16, 1), ("10.3.0.0", 16, 2), ("10.4.0.0", 16, 4))
      for ((index, row) <- image.roots) bench.write(dut.io.prefixTables.root, 4 * 32 + index, row)
      val wants = Seq[(Query, Answer)](
        Query("10.1.0.9", 3) -> To(station(9)),
        Query("10.1.0.9", 3, network = 1) -> To(station(19)),
        Query("10.1.0.9", 3, network = 32) -> To(station(29)),
        Query("10.1.0.9", 3, network = 33) -> To(station(3)),
        // The port's own network, and row 0.
        Query("10.1.0.11", 3) -> To(station(0)),
        Query("10.1.0.11", 3, network = 1) -> To(station(3)),
        Query("10.1.0.11", 0, network = 1) -> Nowhere,
        Query("2001:db8:1::ffff", 3, network = 1) -> To(station(3)),
        Query("192.0.2.7", 0) -> To(station(0)),
        Query("192.0.2.7", 0, network = 1) -> Nowhere,
        Query("192.0.2.7", 5, network = 1) -> Nowhere,
        Query("224.0.0.9", 0, network = 1) -> Nowhere,
        // Prefixes: those below are of network 32 as well, and network 1 has none.
        Query("10.2.0.9", 0) -> To(station(3)),
        Query("10.2.0.9", 0, network = 32) -> To(station(3)),
        Query("10.2.0.9", 0, network = 1) -> Nowhere,
        Query("10.3.0.9", 3) -> To(station(0)),
        Query("10.3.0.9", 3, network = 32) -> Unresolved,
        Query("10.4.0.9", 3) -> To(station(0)),
        Query("10.4.0.9", 3, network = 32) -> Nowhere
      )
      val random = new Random(5)
      val mixed = wants ++ Seq.fill(200)(wants(random.nextInt(wants.size)))
      for (((query, want), got) <- mixed.zip(bench.ask(mixed.map(_._1)))) assert(got == want, query)
    }
  }

  test("a flipped bit of a row of hosts sends no packet to another station") {
    simulate(new FlippedHosts(hosts, hops)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      bench.hop(3, station(3))
      bench.host("10.1.0.9", station(9), way = 2)
      assert(bench.ask("10.1.0.9", 3) == To(station(9)))
      for (bit <- 0 to HostRow.bits) {
        dut.flips(2).poke(BigInt(1) << bit)
        assert(bench.ask("10.1.0.9", 3) == Upset, s"bit $bit")
        assert(bench.ask("10.2.0.9", 3) == Upset, s"bit $bit, of a host that has no row")
      }
      dut.flips(2).poke(0)
      assert(bench.ask("10.2.0.9", 3) == To(station(3)))
    }
  }

  test("the longest prefix leads a packet, unless there is a row of its host") {
    simulate(new FlippedHosts(hosts, hops)) { dut =>
      val bench = new Bench(dut)
      bench.start()
      for (n <- 3 to 7) bench.hop(n, station(n))
      bench.host("10.1.0.9", station(9))
      bench.group(1)
      bench.group(2, 3)
      bench.group(3, 4)
      bench.group(4, 9)
      bench.group(5, hops + 3)
      bench.group(6, 4, 5, 6, 7)
      bench.prefixes(
        ("0.0.0.0", 0, 2),
        ("10.1.0.0", 24, 1),
        ("10.1.0.128", 25, 3),
        ("172.16.0.0", 12, 1),
        ("198.51.100.0", 24, 4),
        ("198.51.101.0", 24, 5),
        ("198.51.102.0", 24, 7),
        ("203.0.113.0", 24, 6),
        ("2001:db8:1::", 64, 1),
        ("2001:db8::", 32, 3),
        ("2001:db8:8::", 48, 6)
      )
      for (
        (query, want) <- Seq[(Query, Answer)](
          Query("10.1.0.9", 5) -> To(station(9)),
          Query("10.1.0.11", 5) -> Unresolved,
          Query("10.1.0.200", 5) -> To(station(4)),
          Query("172.16.4.1", 5) -> Unresolved,
          Query("192.0.2.7", 5) -> To(station(3)),
          Query("192.0.2.7", 0) -> To(station(3)),
          Query("198.51.100.1", 5) -> Nowhere,
          Query("198.51.101.1", 5) -> Nowhere,
          Query("198.51.102.1", 5) -> Upset,
          Query("2001:db8:1::77", 5) -> Unresolved,
          Query("2001:db8:1:1::77", 5) -> To(station(4)),
          // No prefix: what the SA or rule names.
          Query("2001:db9::1", 5) -> To(station(5)),
          Query("2001:db9::1", 0) -> Unresolved,
          // Groups of hosts are in no prefix.
          Query("224.0.0.9", 5) -> To(station(5)),
          Query("255.255.255.255", 0) -> Nowhere
        )
      ) assert(bench.ask(Seq(query)) == Seq(want), query)

      // Row 0 is the station of hosts without a row, and of nothing else.
      bench.hop(0, station(1000))
      assert(bench.ask("10.1.0.11", 5) == To(station(1000)))
      assert(bench.ask("192.0.2.7", 0) == To(station(3)))

      // A flow keeps to one of four next hops, by its addresses and its label.
      val flows = for (n <- 1 to 60; v6 <- Seq(false, true)) yield {
        if (v6) Query("2001:db8:8::1", 0, s"2001:db8:9::${n % 4}", n)
        else Query(s"203.0.113.$n", 0, s"192.0.2.${n / 3}")
      }
      def hash(flow: Query): Int =
        HopGroups.hash(BigInt(flow.label) << 256 | number(flow.from) << 128 | number(flow.to), 276)
      val mixed = flows ++ flows.reverse
      for ((flow, got) <- mixed.zip(bench.ask(mixed))) assert(got == To(station(4 + hash(flow) / 64)), flow)
      assert(flows.map(hash(_) / 64).toSet == Set(0, 1, 2, 3))
    }
  }
}
