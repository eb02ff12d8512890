// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.registers.map.InnerRegs
import sallyport.common.registers.map.InnerRegs.{PeerControl, PeerEvent}

/**
 * A peer that has moved is an event once its packet is known to be authentic (RFC 7296 2.23), and
 * for no other.
 */
class PeerEventsSpec extends AnyFunSuite with InnerPathsModel {

  test("an event for each packet that says so and is neither copied nor too old, whatever else becomes of it") {
    simulatePaths { (_, bench) =>
      bench.start()
      def oldest: BigInt = bench.bus.read(InnerRegs.peerEvent)

      /** (SA, place and round) of all events. */
      def events(): Seq[(Int, Int)] =
        Iterator.continually(oldest).takeWhile(PeerEvent.valid(_) == 1).map { value =>
          bench.bus.write(InnerRegs.peerControl, PeerControl.pop.put(1))
          (PeerEvent.sa(value).toInt, (PeerEvent.round(value) << 6 | PeerEvent.place(value)).toInt)
        }.toSeq
      def send(packets: LinkPacket*): Seq[(Int, Int)] = {
        packets.foreach(bench.fromLink)
        bench.idle(100)
        events()
      }

      val good = decrypts.find(d => d.counter == "tx_frames" && d.packet.sa == 5).get.packet
      def packet(sequence: Int, place: Int): LinkPacket = good.copy(sequence = sequence, moved = true, peerTag = place)
      assert(send(packet(1000, 0).copy(moved = false), packet(1001, 0xa5)) == Seq(5 -> 0xa5))
      // Copies of both, and one that is left of the window of 64, by whatever place they name.
      assert(send(packet(1000, 1), packet(1001, 2), packet(900, 3)).isEmpty)
      // The next numbers, out of order; a run of them without a gap.
      assert(send(packet(1003, 4), packet(1002, 5)) == Seq(5 -> 4, 5 -> 5))
      assert(send((0 until 16).map(n => packet(1010 + n, n)): _*) == (0 until 16).map(5 -> _))
      // An SA without a row; a bypassed packet.
      assert(send(packet(2000, 6).copy(sa = 9), packet(2001, 7).copy(bypass = true)).isEmpty)
      // An authentic packet is one of its peer's, even if the SA does not allow its contents (SA 8:
      // UDP of 10.9.0.0/24).
      assert(send(packet(2000, 8).copy(sa = 8)) == Seq(8 -> 8))
      assert(send(packet(3000, 9).copy(nextHeader = 59)) == Seq(5 -> 9))
      // An SA that does not check its numbers.
      assert(send(packet(1, 10).copy(sa = 6), packet(1, 11).copy(sa = 6)) == Seq(6 -> 10, 6 -> 11))

      // The 17th is lost, and said to be, until software says that it knows.
      for (n <- 0 until 16) bench.fromLink(packet(4000 + n, n))
      bench.idle(100)
      assert(PeerEvent.lost(oldest) == 0)
      bench.fromLink(packet(4016, 16))
      bench.idle(100)
      assert(PeerEvent.lost(oldest) == 1)
      assert(events() == (0 until 16).map(5 -> _))
      assert(PeerEvent.lost(oldest) == 1)
      bench.bus.write(InnerRegs.peerControl, PeerControl.clearLost.put(1))
      assert(PeerEvent.lost(oldest) == 0)
    }
  }
}
