// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.EventQueue
import sallyport.common.registers.map.InnerRegs.{LifetimeControl, LifetimeEvent}
import sallyport.common.registers.map.{Action, InnerRegs, InnerTables, RuleRow, SaUsageRow}
import sallyport.iface.inner.{InnerBench, InnerHarness, InnerPathsModel, InnerSetup}

/**
 * Counts and lifetimes on the inner chip, held against the frames that
 * tests/vectors/test_inner_frames.py had scapy make.
 */
class InnerUsageSpec extends AnyFunSuite with InnerPathsModel {
  private val sas = 1 << config.saBits

  private def run(body: (InnerHarness, InnerBench) => Unit): Unit =
    simulatePaths { (dut, bench) =>
      bench.start()
      body(dut, bench)
    }

  /** The length that an IP packet says it has. */
  private def ipLength(packet: Seq[Byte]): Int = {
    def half(at: Int): Int = (packet(at) & 0xff) << 8 | packet(at + 1) & 0xff
    if (packet.head >> 4 == 6) 40 + half(4) else half(2)
  }

  /** Packets and bytes by row, of those rows that have any. */
  private def counts(bench: InnerBench, table: Int, rows: Int): Map[Int, (BigInt, BigInt)] = Seq
    .tabulate(rows) { index =>
      val row = bench.bus.readRow(table, index).get
      index -> (SaUsageRow.packets(row), SaUsageRow.bytes(row))
    }
    .filter(_._2._1 != 0)
    .toMap

  private def sums[K](packets: Seq[(K, Int)]): Map[K, (BigInt, BigInt)] =
    packets.groupMap(_._1)(_._2).map { case (key, lengths) => key -> (BigInt(lengths.size), BigInt(lengths.sum)) }

  /** Takes all events away. */
  private def events(bench: InnerBench): Seq[BigInt] = Iterator
    .continually(bench.bus.read(InnerRegs.lifetimeEvent))
    .takeWhile(LifetimeEvent.valid(_) == 1)
    .tapEach(_ => bench.bus.write(InnerRegs.lifetimeControl, LifetimeControl.pop.put(1)))
    .toSeq

  private def event(sa: Int, inbound: Int, hard: Int, bytes: Int): BigInt =
    LifetimeEvent.valid.put(1) | LifetimeEvent.sa.put(sa) | LifetimeEvent.inbound.put(inbound) |
      LifetimeEvent.hard.put(hard) | LifetimeEvent.bytes.put(bytes) | LifetimeEvent.packets.put(1 - bytes)

  test("every SA and every policy counts what scapy's frames have, and nothing that is dropped") {
    run { (dut, bench) =>
      def receive(rows: Seq[Encrypt]): Unit = {
        for ((row, i) <- rows.zipWithIndex) bench.receive(row.frame, gap = if (i % 3 == 0) i % 7 else 0)
        bench.idle(1000)
      }
      val decided = encrypts.filter(row => row.expected.nonEmpty || row.counter == "punt_policy")
      receive(decided)
      val protects =
        for (row <- decided; p <- row.expected.headOption if !p.bypass && p.sa < sas) yield p.sa -> row.packetBytes
      assert(counts(bench, InnerTables.outboundUsage, sas) == sums(protects) && sums(protects).size == 6)

      // What a policy makes of a packet tells which it was: no two of InnerSetup's do the same to
      // one IP version.
      def made(action: Int, sa: Int, version: Int) = (action, if (action == Action.punt) 0 else sa, version)
      def ofPacket(row: Encrypt) = row.expected.headOption match {
        case Some(p) =>
          made(if (p.bypass) Action.bypass else Action.protect, p.sa, p.bytes.head >> 4) -> row.packetBytes
        case None => made(Action.punt, 0, if (row.frame(12) == 0x08.toByte) 4 else 6) -> ipLength(row.frame.drop(14))
      }
      def policies: Map[Int, (BigInt, BigInt)] = counts(bench, InnerTables.policyUsage, 1 << config.flowBits)
      val byRow = policies
      val byPolicy =
        InnerSetup.rules.map(r => InnerSetup.usage(r) -> made(r.action, r.sa, InnerSetup.version(r.destination))) ++
          InnerSetup.flows.map(f => InnerSetup.usage(f) -> made(Action.protect, f.sa, InnerSetup.version(f.source)))
      val got = byPolicy.toMap.view.filterKeys(byRow.contains).map { case (row, what) => what -> byRow(row) }.toMap
      assert(got == sums(decided.map(ofPacket)) && got.size == byRow.size && got.size > 15)

      // DISCARD counts too; what no policy matched counts nowhere; rules that name one row are
      // counted as one.
      val discarding = InnerSetup.rules.filter(_.action == Action.discard)
      assert(discarding.size >= 3)
      val order = InnerSetup.rules.sortBy(_.priority)
      for (rule <- discarding)
        assert(bench.bus.writeRow(InnerTables.rule, order.indexOf(rule), rule.row | RuleRow.usage.put(200)))
      val dropped = encrypts.filter(_.counter == "drop_policy")
      receive(dropped)
      val discarded = policies(200)._1
      assert(policies - 200 == byRow && discarded >= 3 && discarded < dropped.size)

      // A dropped packet is in no SA's count.
      receive(encrypts.filterNot(decided.contains))
      dut.io.linkUp.poke(false)
      bench.idle(3)
      receive(encrypts)
      dut.io.linkUp.poke(true)
      assert(counts(bench, InnerTables.outboundUsage, sas) == sums(protects))

      for (row <- decrypts) bench.fromLink(row.packet)
      bench.idle(300)
      // Those for the management CPU count as those that go on.
      val passed = decrypts.filter(_.out.nonEmpty).filterNot(_.packet.bypass)
      val received = passed.map(row => row.packet.sa -> ipLength(row.packet.bytes))
      assert(counts(bench, InnerTables.inboundUsage, sas) == sums(received) && sums(received).size >= 5)
      assert(passed.exists(row => ipLength(row.packet.bytes) < row.packet.bytes.length), "no frame with padding")
      assert(events(bench).isEmpty)
    }
  }

  test("lifetimes stop an SA to the packet, at a packet every second cycle, and say so once") {
    run { (dut, bench) =>
      val good = encrypts.find(r => r.frame.length == 60 && r.expected.exists(p => !p.bypass && p.sa == 5)).get
      val other = encrypts.find(r => r.frame.length == 60 && r.expected.exists(_.bypass)).get
      val length = good.expected.head.bytes.length
      def preset(table: Int, sa: Int, limits: Limits): Unit =
        assert(bench.bus.writeRow(table, sa, Usage(limits).row))

      for (hard <- Seq(1, 2, 7, 20)) {
        preset(InnerTables.outboundUsage, 5, Limits(hardPackets = hard, softBytes = 3 * length - 1))
        val before = bench.counters()
        bench.toLink.clear()
        // Packets that are dropped for another reason do not count.
        dut.io.linkUp.poke(false)
        bench.idle(3)
        bench.receive(good.frame, gap = 60)
        dut.io.linkUp.poke(true)
        bench.idle(3)
        for (_ <- 0 until 20) {
          bench.receive(good.frame, gap = 1)
          bench.receive(other.frame, gap = 1)
        }
        bench.idle(100)
        val grown = bench.balanced(before)
        assert(grown("tx_protect") == hard && grown.getOrElse("drop_lifetime", BigInt(0)) == 20 - hard)
        assert(grown("drop_link_down") == 1 && grown("tx_bypass") == 20)
        assert(bench.toLink.count(_ == good.expected.head) == hard && bench.toLink.size == 20 + hard)
        val row = bench.bus.readRow(InnerTables.outboundUsage, 5).get
        assert(SaUsageRow.expired(row) == 1 && SaUsageRow.packets(row) == 0 && SaUsageRow.bytes(row) == hard * length)
        val soft = Seq(event(5, inbound = 0, hard = 0, bytes = 1)).filter(_ => hard > 3)
        assert(events(bench) == soft :+ event(5, inbound = 0, hard = 1, bytes = 0))
      }

      // A long packet behind a stalled link, and one swallowed behind it.
      val longer = encrypts.filter(r => r.frame.length < 2000 && r.expected.exists(p => !p.bypass && p.sa == 5))
      val long = longer.maxBy(_.frame.length)
      assert(long.frame.length > 500)
      preset(InnerTables.outboundUsage, 5, Limits(hardBytes = 2 * long.expected.head.bytes.length))
      bench.toLink.clear()
      dut.io.toLink.ready.poke(false)
      for (_ <- 0 until 3) bench.receive(long.frame)
      for (_ <- 0 until 40) bench.receive(good.frame, gap = 1)
      bench.receive(other.frame)
      dut.io.toLink.ready.poke(true)
      bench.idle(300)
      assert(bench.toLink.toSeq == Seq(long, long, other).map(_.expected.head))
      assert(events(bench) == Seq(event(5, inbound = 0, hard = 1, bytes = 1)))

      // Decrypt: SA 7, its bytes; replayed packets do not count.
      val template = decrypts.find(r => r.frame.isDefined && r.packet.bytes.length == 46 && !r.packet.bypass).get.packet
      val ip = ipLength(template.bytes)
      for (limit <- Seq(5 * ip - 1, 5 * ip, 5 * ip + 1)) {
        assert(bench.bus.writeRow(InnerTables.selector, 7, InnerSetup.selectors(7)))
        preset(InnerTables.inboundUsage, 7, Limits(hardBytes = limit, softPackets = 2))
        val before = bench.counters()
        for (n <- 1 to 10; _ <- 0 until 2) bench.fromLink(template.copy(sa = 7, sequence = n))
        bench.idle(100)
        val passes = if (limit > 5 * ip) 6 else 5
        assert(bench.balanced(before) - "tx_bytes" == Map[String, BigInt](
          "link_rx_packets" -> 20,
          "drop_replayed" -> 10,
          "tx_frames" -> passes,
          "drop_inner_lifetime" -> (10 - passes)
        ))
        val found = Seq(event(7, inbound = 1, hard = 0, bytes = 0), event(7, inbound = 1, hard = 1, bytes = 1))
        assert(events(bench) == found)
      }

      // More events than the queue holds: 16 stay, and software is told to look at the rows.
      preset(InnerTables.outboundUsage, 5, Limits())
      for (n <- 0 to EventQueue.entries) {
        preset(InnerTables.outboundUsage, 5, Limits(softPackets = 1))
        bench.receive(good.frame, gap = 60)
      }
      bench.idle(100)
      val all = events(bench)
      assert(all == Seq.fill(EventQueue.entries)(event(5, 0, hard = 0, bytes = 0) | LifetimeEvent.lost.put(1)))
      bench.bus.write(InnerRegs.lifetimeControl, LifetimeControl.clearLost.put(1))
      assert(bench.bus.read(InnerRegs.lifetimeEvent) >> LifetimeEvent.lost.lsb == 0)
    }
  }
}
