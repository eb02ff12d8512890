// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import sallyport.common.stream.Pace

import scala.util.Random

/** A table of so few rows that all places of a datagram's hashes are often taken. */
class CrowdedReassemblerSpec extends ReassemblyTests {
  val config: ReassemblyConfig = ReassemblyConfig(
    datagrams = 8,
    tableRows = 4,
    cells = 128,
    sources = 16,
    queueBeats = 256,
    ipOffsets = Seq(0, 14, 18, 22)
  )

  subtest("where all places of a datagram's hashes are taken, one of them gives way") { dut =>
    val bench = new ReassemblyBench(dut, perSource = config.datagrams + 1)
    val dice = new FragmentDice(new Random(1))
    def cut(bytes: Int): Seq[Arrival] = dice.cut(dice.datagram(bytes), 2).map(_.arrival)
    def run(arrivals: Seq[Arrival]) = bench.run(arrivals, Pace.Half, Pace.Always, 1)._2.size
    // Fewer than the limit: none gives way to it.
    for (_ <- 0 until 60) {
      assert(run(Seq.fill(config.datagrams - 1)(cut(100).head)) == 0)
      bench.tick(10)
      assert(bench.held == 0)
    }
    val crowded = bench.counts("full")
    assert(crowded > 0 && crowded < 60 * (config.datagrams - 1) / 2, bench.counts)
    // Beside any number of those, two fragments in a row are put together.
    assert(run(Seq.fill(200)(Seq(cut(100).head) ++ cut(400)).flatten) == 200)
    bench.tick(10)
    assert(bench.held == 0)
  }
}
