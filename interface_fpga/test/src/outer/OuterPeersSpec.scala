// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.link.PeerTag
import sallyport.common.registers.map.{OuterRegs, OuterTables}
import sallyport.common.simulation.{CompiledOnce, LongForm}
import sallyport.common.table.CuckooHash
import sallyport.iface.chip.InterfaceConfig

/**
 * ESP in UDP from elsewhere than its SA's row expects (RFC 3948), from the port to the link and to
 * software.
 */
class OuterPeersSpec extends AnyFunSuite with CompiledOnce with LongForm {
  private val config =
    OuterConfig(saBits = 10, sadBits = 10, chip = InterfaceConfig(receiveBeats = 256, linkBeats = 256))

  private def frame(name: String): Seq[Byte] = OuterFrames.all.find(_.name == name).get.bytes

  /** From 192.0.1.77, with an identification for which the header's checksum stays as it is. */
  private def fromElsewhere(frame: Seq[Byte]): Seq[Byte] = frame.updated(18, 1.toByte).updated(28, 1.toByte)

  test("a packet that is not from its SA's peer goes on with a place that says where from; all others without") {
    simulate(new OuterCoreHarness(config)) { dut =>
      val bench = new OuterCoreBench(dut)
      val bus = bench.bus
      bench.start()
      for ((index, row) <- OuterFrames.sadRows((1 << config.sadBits) / CuckooHash.ways))
        assert(bus.writeRow(OuterTables.sad, index, row))
      for ((index, row) <- OuterFrames.ruleRows) assert(bus.writeRow(OuterTables.rule, index, row))
      bus.write(OuterRegs.localIpv4, OuterFrames.localIpv4)
      bus.write(OuterRegs.control, OuterRegs.Control.rxEnable.put(1))

      // Rounds go on from the first, which may have any number.
      val first = OuterRegs.PeerPlaces.round(bus.read(OuterRegs.peerPlaces)).toInt

      /**
       * Of each packet that goes to the link the place that it names, those of later rounds behind
       * those of the first.
       */
      def send(frames: Seq[Byte]*): Seq[Option[Int]] = {
        bench.clear()
        frames.foreach(bench.receive(_, interval = 2))
        bench.drain()
        bench.places.toSeq.map(_.map(tag => (tag - first * PeerTag.places) & 255))
      }
      def taken: (BigInt, BigInt) = {
        val value = bus.read(OuterRegs.peerPlaces)
        (OuterRegs.PeerPlaces.taken(value), (OuterRegs.PeerPlaces.round(value) - first) & 3)
      }
      def place(number: Int): (BigInt, BigInt, BigInt) = {
        bus.write(OuterRegs.peerPlace, number)
        val sa = bus.read(OuterRegs.peerSa)
        (OuterRegs.PeerSa.sa(sa), bus.read(OuterRegs.peerAddress), OuterRegs.PeerSa.port(sa))
      }

      // From the peer; an SA without encapsulation; one whose row expects no peer; BYPASS;
      // dropped and punted packets.
      val home = frame("natt_esp_80")
      val away = frame("natt_source_port")
      val others =
        Seq("esp_80", "natt_elsewhere_known", "rule_bypass", "natt_keepalive", "natt_marker_ike", "natt_unknown_spi")
      assert(send(home +: others.map(frame): _*) == Seq.fill(4)(None))
      assert(taken == (0, 0))

      // Another port, then another address, each time and time again among others.
      val far = fromElsewhere(home)
      assert(send(away, home, away, frame("esp_80"), away) == Seq(Some(0), None, None, None, None))
      assert(send(far, far, away) == Seq(Some(1), None, Some(2)))
      assert(taken == (3, 0))
      val address = OuterFrames.peerAddress
      val port = OuterFrames.peerPort
      assert(place(0) == (9, address, 0xef32) && place(1) == (9, address - 256, port) && place(2) == place(0))

      // No more than there are, and nothing of it stops traffic.
      val many = send(Seq.fill(40)(Seq(far, away)).flatten: _*)
      assert(many == Seq.tabulate(61)(n => Some(n + 3)) ++ Seq.fill(19)(None))
      assert(taken == (64, 0) && place(63) == (9, address - 256, port))
      bus.write(OuterRegs.peerControl, OuterRegs.PeerControl.clear.put(1))
      assert(taken == (0, 1))
      assert(send(far, home) == Seq(Some(64), None))
      assert(taken == (1, 1) && place(0) == (9, address - 256, port))

      // A link that is down takes no place.
      dut.io.laneUp.poke(false)
      bench.run(100)
      assert(send(away).isEmpty && taken == (1, 1))
    }
  }
}
