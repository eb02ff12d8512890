// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

class LanePickerSpec extends AnyFunSuite with CompiledOnce {

  test("a periodic mix of sizes is shared evenly, and a lane that is not ready gets nothing") {
    simulate(new LanePicker(4)) { dut =>
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)

      /** Sends `packets` of the mix and gives the blocks each lane got. */
      def share(ready: Int, packets: Int, sizes: Seq[Int], gap: Int): Seq[Int] = {
        val got = Array.fill(4)(0)
        dut.io.laneReady(0).poke(0)
        dut.io.laneReady(1).poke(ready)
        dut.io.taken.poke(false)
        dut.clock.step(2)
        for (i <- 0 until packets) {
          while (!dut.io.valid(1).peek().litToBoolean) dut.clock.step()
          val pick = dut.io.pick(1).peek().litValue
          assert(pick.bitCount == 1 && (pick & ready) == pick, s"pick $pick of $ready")
          val size = sizes(i % sizes.length)
          got(pick.lowestSetBit) += size
          assert(!dut.io.valid(0).peek().litToBoolean, "no lane has room for a slow packet")
          dut.io.lane.poke(pick)
          dut.io.blocks.poke(size)
          dut.io.taken.poke(true)
          dut.clock.step()
          dut.io.taken.poke(false)
          dut.clock.step(gap)
        }
        got.toSeq
      }

      // A little more than four lanes can do. IMIX 7:4:1 has period 12: counting lanes in turn
      // would send every long packet to one of four.
      val imix = Seq(6, 6, 38, 6, 6, 38, 6, 38, 6, 6, 38, 97)
      val shares = share(15, 240, imix, gap = 4)
      assert(shares.max - shares.min <= 2 * imix.max, s"blocks a lane: $shares")

      val three = share(11, 60, imix, gap = 6)
      assert(three(2) == 0 && three.filter(_ > 0).min > three.sum / 5, s"blocks a lane: $three")
      assert(share(4, 10, imix, gap = 1).count(_ > 0) == 1)

      // Packets so far apart that all work seems done: lanes take turns all the same.
      dut.clock.step(LanePicker.mostWork)
      assert(share(15, 40, Seq(10), gap = 60) == Seq.fill(4)(100))
    }
  }
}
