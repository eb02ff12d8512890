// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{Chip, CommonRegs}
import sallyport.common.simulation.{CompiledOnce, LongForm}

/**
 * The whole chip: registers over AXI4-Lite, frames at the port, and a far link end behind channels
 * of four lanes.
 */
class InnerCoreSpec extends AnyFunSuite with CompiledOnce with InnerFrames with LongForm {
  private val config = InnerConfig(saBits = 4, flowBits = 8)

  test("both paths at once over a modelled link: every packet as scapy says, counters balance, line rate at 64 B") {
    simulate(new InnerCoreHarness(config)) { dut =>
      val bench = new InnerBench(dut, config)
      bench.start()
      bench.holdFragments()
      assert(bench.bus.read(CommonRegs.chip) == Chip.inner && bench.bus.read(CommonRegs.capabilityReplayWindow) == 4096)
      var before = bench.counters()
      for (row <- encrypts) bench.receive(row.frame, gap = row.frame.length / 64)
      for (row <- decrypts) bench.fromLink(row.packet)
      bench.idle(1000)
      expect(sorted(bench.toLink.toSeq), sorted(encrypts.flatMap(_.expected)), "packet")(show)
      expect(bench.frames.toSeq, decrypts.flatMap(_.frame), "frame")(hex)
      val expected = count(encrypts.flatMap(_.counters) ++ decrypts.flatMap(_.counters)) ++
        Map("rx_frames" -> BigInt(encrypts.size), "link_rx_packets" -> BigInt(decrypts.size))
      assert(bench.balanced(before) - "rx_bytes" - "tx_bytes" == expected)

      // 64 B line rate is a frame in 2.016 cycles; a 64 B frame takes 8 units of the link, a 69 B
      // frame 9.
      val one = encrypts.find(r => r.counter == "tx_protect" && r.frame.length == 60).get
      val longer = encrypts.find(r => r.expected.exists(_.bytes.length == 51)).get
      for (row <- Seq(one, longer)) {
        before = bench.counters()
        bench.linkStarts.clear()
        val begin = bench.cycle
        val packets = 3000
        for (_ <- 0 until packets) bench.receive(row.frame, gap = if (row.frame.length > 64) 0 else 1)
        bench.idle(1500)
        val grown = bench.balanced(before)
        val cycles = pace(bench.linkStarts.toSeq, packets)
        info(
          f"${row.frame.length + 4} B frames: $cycles%.3f cycles a packet, ${bench.linkStarts.head - begin} cycles from the red port " +
            "to the far end of the link"
        )
        assert(!grown.contains("drop_rx_overflow") && cycles <= 2.01)
      }
    }
  }
}
