// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.FlowRow
import sallyport.common.simulation.CompiledOnce
import sallyport.common.table.{CuckooHash, FlippedCuckooTable}
import sallyport.iface.chip.InterfaceConfig

/** [[InnerPathsHarness]] whose flow rows have flipped bits. */
private class FlippedFlowsHarness(config: InnerConfig) extends InnerHarness {
  val flips = IO(FlippedCuckooTable.flips(FlowRow.bits))
  private val paths = Module(new InnerPathsHarness(config, flowTable = FlippedCuckooTable.table(flips)))
  io <> paths.io
}

class FlowUpsetSpec extends AnyFunSuite with CompiledOnce with InnerFrames {
  private val config = InnerConfig(saBits = 4, flowBits = 8, chip = InterfaceConfig(receiveBeats = 256))

  test("a flipped bit of a flow lets no packet out in clear or under another SA: it is dropped by name") {
    simulate(new FlippedFlowsHarness(config)) { dut =>
      dut.flips.foreach(_.poke(0))
      val bench = new InnerBench(dut, config)
      bench.start()
      // A flow to SA 703, in way 0, whose packets would leave in clear by a rule behind it; and a
      // packet of that rule that has no flow.
      val flow = encrypts.find(_.expected.exists(_.sa == 703)).get
      val clear = encrypts.find(_.expected.exists(_.bypass)).get
      val arp = encrypts.find(_.counter == "punt_arp").get

      def send(row: Encrypt): Seq[LinkPacket] = {
        bench.toLink.clear()
        bench.receive(row.frame, gap = 60)
        bench.toLink.toSeq
      }
      for (row <- Seq(flow, clear)) assert(send(row) == row.expected)

      val before = bench.counters()
      for (bit <- 0 to FlowRow.bits) {
        dut.flips(0).poke(BigInt(1) << bit)
        assert(send(flow).isEmpty, s"bit $bit")
      }
      val places = for (way <- 0 until CuckooHash.ways; bit <- Seq(0, 130, 303, 352, 354, 404)) yield way -> bit
      for ((way, bit) <- places) {
        dut.flips.foreach(_.poke(0))
        dut.flips(way).poke(BigInt(1) << bit)
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

      dut.flips.foreach(_.poke(0))
      for (row <- Seq(flow, clear)) assert(send(row) == row.expected)
    }
  }
}
