// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tfc

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Action, DummyRow, FlowRow, InnerRegs, InnerTables, RuleRow, SaUsageRow}
import sallyport.iface.inner.{InnerBench, InnerHarness, InnerPathsModel, InnerSetup, LinkPacket}
import sallyport.iface.usage.{Limits, Usage}

/**
 * Traffic flow confidentiality on the inner chip (RFC 4303 2.6, 2.7), held against the frames that
 * tests/vectors/test_inner_frames.py had scapy make.
 */
class InnerTfcSpec extends AnyFunSuite with InnerPathsModel {
  private val turn = DummySchedule.entries

  private def run(body: (InnerHarness, InnerBench) => Unit): Unit =
    simulatePaths { (dut, bench) =>
      bench.start()
      body(dut, bench)
    }

  /** The bench sees no packets while software is at the bus: the link waits so long. */
  private def held[A](dut: InnerHarness)(access: => A): A = {
    dut.io.toLink.ready.poke(false)
    val answer = access
    dut.io.toLink.ready.poke(true)
    answer
  }

  private def write(dut: InnerHarness, bench: InnerBench, index: Int, row: BigInt): Unit =
    held(dut)(assert(bench.bus.writeRow(InnerTables.dummy, index, row)))
  private def row(sa: Int, units: Int, interval: BigInt): BigInt =
    DummyRow.valid.put(1) | DummyRow.sa.put(sa) | DummyRow.length.put(units) | DummyRow.interval.put(interval)

  private def made(sa: Int, units: Int) = LinkPacket(Seq.fill(4 * units)(0.toByte), sa, nextHeader = 59)
  private val good = encrypts.find(r => r.frame.length == 60 && r.expected.exists(p => !p.bypass && p.sa == 5)).get
  private val gone = encrypts.find(r => r.frame.length == 60 && r.expected.exists(_.bypass)).get

  test("packets and fragments of an entry with a least length have it, bypassed and transport mode ones never do") {
    run { (_, bench) =>
      val units = 160
      for ((rule, i) <- InnerSetup.rules.sortBy(_.priority).zipWithIndex)
        assert(bench.bus.writeRow(
          InnerTables.rule,
          i,
          rule.row | RuleRow.usage.put(InnerSetup.usage(rule)) | RuleRow.tfc.put(units)
        ))
      for (flow <- InnerSetup.flows)
        assert(bench.bus.writeRow(
          InnerTables.flow,
          flow.index((1 << config.flowBits) / 4),
          flow.row | FlowRow.tfc.put(2 * units)
        ))
      val sent = encrypts.filter(_.expected.nonEmpty)
      for (row <- sent) bench.receive(row.frame, gap = 40) // time for the added bytes
      bench.idle(1000)
      val flows = InnerSetup.flows.map(_.sa).toSet
      val padded = sent.flatMap(_.expected).map { p =>
        val least = if (p.bypass) 0 else if (flows(p.sa)) 8 * units else 4 * units
        p.copy(bytes = p.bytes.padTo(least, 0.toByte))
      }
      expect(sorted(bench.toLink.toSeq), sorted(padded), "packet")(show)
      for (sizes <- Seq[LinkPacket => Boolean](p => p.bypass && p.bytes.length < 640, p => flows(p.sa)))
        assert(padded.count(sizes) > 3)
      assert(sent.exists(row => row.expected.size > 1 && row.expected.exists(!_.bypass)), "nothing is cut")

      // The counts of SAs are of the IP packets alone.
      val sum = Seq.tabulate(1 << config.saBits)(sa => bench.bus.readRow(InnerTables.outboundUsage, sa).get)
      val whole = sent.filter(_.expected.exists(p => !p.bypass && p.sa < 16)).map(_.packetBytes)
      assert(sum.map(SaUsageRow.bytes(_)).sum == whole.sum)

      for ((rule, i) <- InnerSetup.rules.sortBy(_.priority).zipWithIndex if rule.action == Action.protect)
        assert(bench.bus.writeRow(InnerTables.rule, i, rule.row | RuleRow.tfc.put(units) | RuleRow.transport.put(1)))
      bench.toLink.clear()
      bench.receive(good.frame)
      bench.idle(200)
      assert(bench.toLink.map(_.bytes) == Seq(good.frame.take(14 + good.expected.head.bytes.length)))
    }
  }

  test(
    "dummies have the length and the interval of their row, in cycles; they count, and stop with row, link, enable and SA"
  ) {
    run { (dut, bench) =>
      var before = bench.counters()
      def starts(cycles: Int): Seq[Int] = {
        bench.linkStarts.clear()
        bench.toLink.clear()
        bench.idle(cycles)
        bench.linkStarts.toSeq
      }
      def gaps(of: Seq[Int]): Seq[Int] = of.zip(of.tail).map { case (a, b) => b - a }

      for ((units, interval) <- Seq(1 -> 2, 16 -> 3, 17 -> 7, 375 -> 20)) {
        write(dut, bench, 3, row(5, units, interval))
        bench.idle(2 * turn * interval)
        val times = starts(30 * turn * interval)
        assert(
          times.size >= 29 && gaps(times).forall(_ == turn * interval),
          s"$units units, each $interval: ${gaps(times)}"
        )
        assert(bench.toLink.forall(_ == made(5, units)))
      }
      write(dut, bench, 3, 0)
      bench.idle(100)
      assert(starts(2000).isEmpty)
      var grown = bench.balanced(before)
      assert(grown.keySet == Set("dummy_packets", "tx_dummy") && grown("tx_dummy") > 110)
      val usage = bench.bus.readRow(InnerTables.outboundUsage, 5).get
      // Software's writes may have caught one that was counted before it left.
      assert((SaUsageRow.packets(usage) - grown("tx_dummy")) <= 4 && SaUsageRow.packets(usage) >= grown("tx_dummy"))

      // All rows at once, more than there is room for: none gets more than another.
      for (index <- 0 until turn) write(dut, bench, index, row(index, 24 + index, 2))
      bench.idle(1000)
      starts(20000)
      val shares = bench.toLink.groupBy(_.sa).values.map(_.size)
      assert(shares.size == turn && shares.max - shares.min <= 1, shares)
      assert(bench.toLink.forall(p => p == made(p.sa, 24 + p.sa)))
      for (index <- 0 until turn) write(dut, bench, index, 0)
      bench.idle(100)

      // A stalled link holds one dummy, not those of the time; a link that is down and a port that
      // is off none.
      write(dut, bench, 0, row(5, 16, 4))
      dut.io.toLink.ready.poke(false)
      bench.idle(2000)
      bench.toLink.clear()
      dut.io.toLink.ready.poke(true)
      bench.idle(40)
      assert(bench.toLink.size <= 6, "dummies are made up for")
      dut.io.linkUp.poke(false)
      bench.idle(100)
      assert(starts(1000).isEmpty)
      dut.io.linkUp.poke(true)
      assert(starts(1000).nonEmpty)
      held(dut)(bench.bus.write(InnerRegs.control, InnerRegs.Control.txEnable.put(1)))
      bench.idle(100)
      assert(starts(1000).isEmpty)
      bench.bus.write(InnerRegs.control, InnerRegs.Control.rxEnable.put(1) | InnerRegs.Control.txEnable.put(1))

      // A hard limit is exact, of dummies and packets together, and has its event.
      write(dut, bench, 0, 0)
      bench.idle(100)
      before = bench.counters()
      assert(bench.bus.writeRow(InnerTables.outboundUsage, 5, Usage(Limits(hardPackets = 10)).row))
      bench.toLink.clear()
      for (_ <- 0 until 4) bench.receive(good.frame, gap = 60)
      write(dut, bench, 0, row(5, 16, 4))
      bench.idle(2000)
      for (_ <- 0 until 3) bench.receive(good.frame, gap = 60)
      assert(bench.toLink.count(_ == made(5, 16)) == 6 && bench.toLink.size == 10)
      grown = bench.balanced(before) - "rx_bytes"
      val counts =
        Map[String, BigInt](
          "rx_frames" -> 7,
          "tx_protect" -> 4,
          "drop_lifetime" -> 3,
          "dummy_packets" -> 6,
          "tx_dummy" -> 6
        )
      assert(grown == counts)
      assert(InnerRegs.LifetimeEvent.hard(bench.bus.read(InnerRegs.lifetimeEvent)) == 1)
    }
  }

  test("dummies take nothing from packets: 64 B frames every second cycle lose none, and have none between them") {
    run { (dut, bench) =>
      write(dut, bench, 0, row(5, 375, 2))
      val before = held(dut)(bench.counters())
      bench.idle(200)
      bench.toLink.clear()
      val count = 2000
      for (_ <- 0 until count) bench.receive(gone.frame, gap = 1)
      bench.idle(400)
      val packets = bench.toLink.zipWithIndex.filter(_._1 == gone.expected.head).map(_._2)
      assert(packets.size == count && packets.last - packets.head < count + 2, "dummies between packets in arrears")

      // Where there are gaps, dummies and packets share the path.
      bench.toLink.clear()
      for (_ <- 0 until 200) bench.receive(good.frame, gap = 60)
      bench.idle(200)
      assert(bench.toLink.count(_ == good.expected.head) == 200 && bench.toLink.count(_ == made(5, 375)) > 100)
      write(dut, bench, 0, 0)
      bench.idle(200)
      assert(!bench.balanced(before).contains("drop_rx_overflow"))
    }
  }
}
