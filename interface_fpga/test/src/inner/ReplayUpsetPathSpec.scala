// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.{AuditReason, InnerRegs}

class ReplayUpsetPathSpec extends AnyFunSuite with InnerPathsModel {
  test(
    "flipped bits are counted by name; a lost highest number drops its SA's packets, with an event, and no other's"
  ) {
    simulatePaths { (dut, bench) =>
      // The rows of SAs 5 and 7 are rows 5 and 7 ([[InnerSetup]]).
      dut.wornWindows.poke(true)
      bench.start()
      val good = decrypts.find(d => d.counter == "tx_frames" && d.packet.sa == 5).get.packet
      def audit: BigInt = bench.bus.read(InnerRegs.auditEvent)
      def send(packets: LinkPacket*): Map[String, BigInt] = {
        val before = bench.counters()
        packets.foreach(bench.fromLink)
        bench.idle(100)
        bench.balanced(before) - "tx_bytes"
      }
      def packet(sa: Int, number: Int): LinkPacket = good.copy(sa = sa, sequence = number, moved = true)

      assert(
        send(packet(5, 100)) ==
          Map("link_rx_packets" -> 1, "tx_frames" -> 1, "window_top_repaired" -> 1, "window_row_filled" -> 1)
      )
      assert(InnerRegs.AuditEvent.valid(audit) == 0)
      assert(InnerRegs.PeerEvent.sa(bench.bus.read(InnerRegs.peerEvent)) == 5)
      bench.bus.write(InnerRegs.peerControl, InnerRegs.PeerControl.pop.put(1))

      assert(
        send(packet(7, 100), packet(7, 101), packet(5, 101)) ==
          Map("link_rx_packets" -> 3, "drop_window_upset" -> 2, "window_top_lost" -> 1, "tx_frames" -> 1)
      )
      assert(InnerRegs.AuditEvent.valid(audit) == 1 && InnerRegs.AuditEvent.sa(audit) == 7)
      assert(InnerRegs.AuditEvent.reason(audit) == AuditReason.windowUpset)
      assert(bench.bus.read(InnerRegs.auditSequence) == 100)
      // A packet that is dropped tells of no peer's place.
      assert(InnerRegs.PeerEvent.sa(bench.bus.read(InnerRegs.peerEvent)) == 5)
      bench.bus.write(InnerRegs.peerControl, InnerRegs.PeerControl.pop.put(1))
      assert(InnerRegs.PeerEvent.valid(bench.bus.read(InnerRegs.peerEvent)) == 0)
    }
  }
}
