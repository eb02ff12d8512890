// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.FlowRow
import sallyport.common.table.{CuckooHash, FlippedTernaryTable}

class SpdUpsetSpec extends AnyFunSuite with InnerPathsModel {
  test("a flipped bit of a flow lets no packet out in clear or under another SA: it is dropped by name") {
    simulatePaths { (dut, bench) =>
      bench.start()
      // A flow to SA 703, in way 0, whose packets would leave in clear by a rule behind it; and a
      // packet of that rule that has no flow.
      val flow = encrypts.find(_.expected.exists(_.sa == 703)).get
      val clear = encrypts.find(_.expected.exists(_.bypass)).get
      val arp = encrypts.find(_.counter == "punt_arp").get

      def send(row: Encrypt): Seq[LinkPacket] = {
        bench.toLink.clear()
        bench.receive(row.frame, gap = 120)
        bench.toLink.toSeq
      }
      for (row <- Seq(flow, clear)) assert(send(row) == row.expected)

      val before = bench.counters()
      for (bit <- 0 to FlowRow.bits) {
        dut.flowFlips(0).poke(BigInt(1) << bit)
        assert(send(flow).isEmpty, s"bit $bit")
      }
      val places = for (way <- 0 until CuckooHash.ways; bit <- Seq(0, 130, 303, 352, 354, 404)) yield way -> bit
      for ((way, bit) <- places) {
        dut.flowFlips.foreach(_.poke(0))
        dut.flowFlips(way).poke(BigInt(1) << bit)
        assert(send(clear).isEmpty, s"way $way, bit $bit")
        if (way != 0) assert(send(flow) == flow.expected, s"way $way, bit $bit")
        assert(send(arp).isEmpty)
      }
      val sent = places.count(_._1 != 0)
      val drops = FlowRow.bits + 1 + places.size
      assert(
        bench.balanced(before) - "rx_bytes" - "flow_row_upset" == Map[String, BigInt](
          "rx_frames" -> (drops + sent + places.size),
          "drop_policy_upset" -> drops,
          "punt_arp" -> places.size,
          flow.counter -> sent
        )
      )
      assert(bench.counters()("flow_row_upset") - before("flow_row_upset") >= drops + sent)

      dut.flowFlips.foreach(_.poke(0))
      for (row <- Seq(flow, clear)) assert(send(row) == row.expected)
    }
  }

  test("a flipped bit of a rule lets no packet out or in: it is dropped by name") {
    simulatePaths { (dut, bench) =>
      bench.start()
      val outbound = Seq(true, false).map(clear => encrypts.find(_.expected.map(_.bypass) == Seq(clear)).get)
      // Of an SA of several selector sets, in clear, and of an SA with one set, which asks no rule.
      def inbound(of: LinkPacket => Boolean): Decrypt =
        decrypts.find(row => row.counter == "tx_frames" && of(row.packet)).get
      val several = inbound(packet => !packet.bypass && Set(1, 2, 3)(packet.sa))
      val clear = inbound(_.bypass)
      val single = inbound(packet => !packet.bypass && packet.sa == 7)
      var number = 1000
      def fresh(row: Decrypt): LinkPacket = {
        number += 1
        if (row.packet.bypass) row.packet else row.packet.copy(sequence = number)
      }
      def send(rows: Decrypt*): Seq[Seq[Byte]] = {
        bench.frames.clear()
        for (row <- rows) bench.fromLink(fresh(row))
        bench.idle(100)
        bench.frames.toSeq
      }
      def leave(rows: Encrypt*): Seq[LinkPacket] = {
        bench.toLink.clear()
        for (row <- rows) bench.receive(row.frame, gap = 120)
        bench.toLink.toSeq
      }
      def good(): Unit = {
        assert(leave(outbound: _*) == outbound.flatMap(_.expected))
        assert(send(several, clear, single).size == 3)
      }

      good()
      val before = bench.counters()
      for (bit <- 0 until FlippedTernaryTable.resultBits) {
        dut.ruleFlips.poke(BigInt(1) << bit)
        assert(leave(outbound: _*).isEmpty, s"bit $bit")
        assert(send(several, clear).isEmpty, s"bit $bit")
      }
      assert(send(single).size == 1)
      val moved = bench.balanced(before)
      val dropped = BigInt(2 * FlippedTernaryTable.resultBits)
      for (counter <- Seq("drop_policy_upset", "rule_row_upset", "drop_inbound_rule_upset", "inbound_rule_row_upset"))
        assert(moved(counter) == dropped, counter)
      assert(moved("tx_frames") == 1)
      dut.ruleFlips.poke(0)
      good()
    }
  }
}
