// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import sallyport.common.stream.Pace
import sallyport.common.table.CuckooHash

import scala.util.Random

/** Datagrams that all have the same four places in the table. */
class CrowdedReassemblerSpec extends ReassemblyTests {
  val config: ReassemblyConfig = ReassemblyConfig(
    datagrams = 8,
    tableRows = 4,
    cells = 128,
    sources = 16,
    queueBeats = 256,
    ipOffsets = Seq(0, 14, 18, 22)
  )

  private def rows(datagram: Datagram): Seq[Int] = {
    val family = if (datagram.ipv6) BigInt(1) << 8 else BigInt(datagram.protocol)
    val key = Seq(datagram.destination -> 128, datagram.source -> 128).foldLeft(
      family << 32 | datagram.identification & 0xffffffffL
    ) { case (above, (value, width)) => above << width | value }
    (0 until CuckooHash.ways).map(CuckooHash.row(_, key, FragmentInfo.keyBits, config.tableRows))
  }

  subtest("where all places of a datagram's hashes are taken, one of them gives way") { dut =>
    val bench = new ReassemblyBench(dut, perSource = config.datagrams + 1)
    val dice = new FragmentDice(new Random(1))
    val alike = Iterator.continually(dice.datagram(400)).filter(rows(_) == Seq(0, 1, 2, 3))
    def firsts(count: Int): Seq[Arrival] = Seq.fill(count)(dice.cut(alike.next(), 2).head.arrival)
    def run(arrivals: Seq[Arrival]) = bench.run(arrivals, Pace.Half, Pace.Always, 1)._2.size
    for ((count, gaveWay) <- Seq(4 -> 0, 5 -> 1, 8 -> 4)) {
      val before = bench.counts("full")
      assert(run(firsts(count)) == 0)
      assert(bench.counts("full") - before == gaveWay, count)
      assert(bench.held == 4)
      bench.tick(10)
      assert(bench.held == 0)
    }
    // Two fragments in a row are put together beside any number of those. More than these at once
    // would overflow the queue.
    for (_ <- 0 until 20) {
      assert(run(Seq.fill(5)(firsts(1) ++ dice.cut(alike.next(), 2).map(_.arrival)).flatten) == 5, bench.counts)
    }
    bench.tick(10)
    assert(bench.held == 0)
  }
}
