// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.util.Random

class UsageTableSpec extends AnyFunSuite with CompiledOnce {
  private val indexBits = 4

  private def bench(limited: Boolean = true)(body: UsageBench => Unit): Unit =
    simulate(new UsageTable(indexBits, limited)) { dut =>
      val bench = new UsageBench(dut, limited)
      bench.start()
      body(bench)
    }

  test("limits of packets and bytes: one below, at and above; who reaches one passes, the next does not") {
    bench() { bench =>
      def passes(limits: Limits, lengths: Seq[Int]): (Int, Seq[(Boolean, Boolean, Boolean)]) = {
        bench.access(5, Some(Usage(limits)))
        bench.events.clear()
        bench.expired.clear()
        bench.run(lengths.map(Charge(5, _)))()
        bench.access(5)
        assert(bench.events.forall(_._1 == 5))
        (bench.expired.count(!_), bench.events.map(e => (e._2, e._3, e._4)).toSeq)
      }
      val (hardBytes, hardPackets) = ((true, true, false), (true, false, true))
      val (softBytes, softPackets) = ((false, true, false), (false, false, true))
      val six = Seq.fill(6)(100)
      assert(passes(Limits(), six) == ((6, Nil)))
      assert(passes(Limits(hardPackets = 1), six) == ((1, Seq(hardPackets))))
      assert(passes(Limits(hardPackets = 5), six) == ((5, Seq(hardPackets))))
      assert(passes(Limits(hardPackets = 6), six) == ((6, Seq(hardPackets))))
      assert(passes(Limits(hardPackets = 7), six) == ((6, Nil)))
      // 500 bytes are there after five packets: a limit of 500 is reached by the fifth, as are 401
      // and 499.
      assert(passes(Limits(hardBytes = 400), six) == ((4, Seq(hardBytes))))
      for (limit <- Seq(401, 499, 500)) assert(passes(Limits(hardBytes = limit), six) == ((5, Seq(hardBytes))))
      assert(passes(Limits(hardBytes = 600), six) == ((6, Seq(hardBytes))))
      assert(passes(Limits(hardBytes = 601), six) == ((6, Nil)))
      // Soft limits, once.
      assert(passes(Limits(softPackets = 2), six) == ((6, Seq(softPackets))))
      assert(passes(Limits(softBytes = 300), six) == ((6, Seq(softBytes))))
      assert(passes(Limits(softBytes = 300, softPackets = 3), six) == ((6, Seq((false, true, true)))))
      assert(passes(Limits(softBytes = 300, softPackets = 4), six) == ((6, Seq(softBytes))))
      assert(passes(Limits(softBytes = 300, hardBytes = 301), six) == ((4, Seq(softBytes, hardBytes))))
      // Both by one packet, and both limits one number: the hard one alone.
      assert(passes(Limits(softBytes = 301, hardBytes = 302), six) == ((4, Seq(hardBytes))))
      assert(passes(Limits(softPackets = 3, hardPackets = 3), six) == ((3, Seq(hardPackets))))
      assert(passes(Limits(hardBytes = 300, hardPackets = 3), six) == ((3, Seq((true, true, true)))))
      assert(passes(Limits(softPackets = 2, hardBytes = 250), six) == ((3, Seq(softPackets, hardBytes))))
      // The longest limits, and counters that were preset.
      val most = (BigInt(1) << 64) - 1
      assert(passes(Limits(most - 1, most, most - 1, most), six) == ((6, Nil)))
      bench.access(9, Some(Usage(Limits(softBytes = most - 200, hardBytes = most), bytes = most - 250)))
      bench.events.clear()
      bench.run(Seq.fill(4)(Charge(9, 100)))()
      assert(bench.events.toSeq == Seq((9, false, true, false), (9, true, true, false)))
      assert(bench.rows(9).packets == 3 && bench.rows(9).bytes == most + 50)
      bench.access(9)
    }
  }

  test("random walks: one row every second cycle, several rows, packets that do not count, software meanwhile") {
    bench() { bench =>
      var accesses = 0
      for (seed <- 1 to 24) {
        val random = new Random(seed)
        val rows = Seq(1, 2, 3, 16)(seed % 4)
        def limit(most: Int): BigInt = if (random.nextBoolean()) 0 else 1 + random.nextInt(most)
        def usage(): Usage = {
          def soft(hard: BigInt, most: Int): BigInt = if (hard == 0) limit(most) else limit(most).min(hard)
          val (bytes, packets) = (limit(30000), limit(60))
          val fresh = Usage(Limits(soft(bytes, 30000), bytes, soft(packets, 60), packets))
          // Some were rekeyed from another chip, with a past; some sit where a counter's
          // halves meet.
          random.nextInt(4) match {
            case 0 => fresh.copy(bytes = (BigInt(1) << 32) - 500, limits = Limits(hardBytes = BigInt(1) << 32))
            case 1 => fresh.copy(packets = random.nextInt(40), limits = Limits(hardPackets = 60, softPackets = 50))
            case _ => fresh
          }
        }
        for (row <- 0 until rows) bench.access(row, Some(usage()))
        val packets = Seq.fill(500) {
          val gap = if (seed % 3 == 0) 2 + random.nextInt(6) else 2
          Charge(random.nextInt(rows), random.nextInt(9600) + 1, random.nextInt(8) != 0, gap)
        }
        val answered = bench.answers
        bench.run(packets) {
          if (bench.isFree && random.nextInt(5) == 0) {
            val row = random.nextInt(rows)
            bench.request(row, Option.when(random.nextInt(3) == 0)(usage()))
          }
        }
        accesses += bench.answers - answered
        for (row <- 0 until rows) bench.access(row)
      }
      assert(accesses > 1000)
      assert(bench.events.count(_._2) > 100 && bench.events.count(!_._2) > 100 && bench.expired.count(identity) > 500)
      info(s"$accesses accesses of software under traffic, ${bench.events.size} events")
    }
  }

  test("a preset and a packet of its row at every distance") {
    bench() { bench =>
      for (distance <- 0 to 12; gap <- Seq(2, 3, 5)) {
        bench.access(1, Some(Usage(bytes = 7, packets = 7)))
        bench.request(1, Some(Usage(Limits(hardPackets = 4))))
        bench.idle(distance)
        bench.run(Seq.fill(6)(Charge(1, 10, gap = gap)))()
        bench.access(1)
      }
    }
  }

  test("policies: packets and bytes without limits") {
    bench(limited = false) { bench =>
      val random = new Random(1)
      bench.access(3, Some(Usage(bytes = (BigInt(1) << 32) - 3000, packets = (BigInt(1) << 32) - 20)))
      bench.run(Seq.fill(1000)(Charge(random.nextInt(4), random.nextInt(9600), gap = 2 + random.nextInt(2)))) {
        if (bench.isFree && random.nextInt(9) == 0) bench.request(random.nextInt(4))
      }
      for (row <- 0 until 16) bench.access(row)
      assert(bench.rows(3).packets > (BigInt(1) << 32) && bench.answers > 100)
    }
  }
}
