// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import sallyport.crypto.hash.HashKind
import sallyport.crypto.support.{Bytes, SharedModel}

import scala.util.Random

class HashEngineSpec extends SharedModel[HashEngineHarness, HashEngineBench] {
  import HashEngineHarness.{ringBits, slots}

  private val kinds = HashKind.all
  def model = new HashEngineHarness(kinds.toSet)
  def bench(dut: HashEngineHarness) = new HashEngineBench(dut)

  private def expected(packet: HashPacket): String = Bytes.toHex(packet.tag.padTo(32, 0.toByte))
  private def smallest(kind: HashKind.Type): Int = if (kind == HashKind.poly1305) 20 else 4

  /** Units of 64 bytes. */
  private def units(packet: HashPacket): Int = {
    val bytes = packet.bytes.length
    if (packet.kind == HashKind.poly1305) ((bytes + 15) / 16 + 1 + 3) / 4
    else (bytes + (if (packet.esn) 4 else 0) + 9 + 63) / 64 + 1
  }

  private def check(bench: HashEngineBench, packets: Seq[HashPacket], random: Random): Unit =
    for ((packet, tag) <- packets.zip(bench.run(packets, random)))
      assert(tag == expected(packet), s"${packet.kind} of ${packet.bytes.length} bytes, esn ${packet.esn}")

  subtest("every length to 300 bytes and some to 9600, every hash mixed, 64 in flight, complete and growing") { bench =>
    val random = new Random(1)
    val packets = for {
      kind <- kinds
      size <- (smallest(kind) to 300 by 4) ++ Seq(1024, 1400, 5000, 9600)
      esn <- Seq(false, true)
    } yield HashPacket.random(random, kind, size, esn)
    check(bench, random.shuffle(packets), random)
  }

  subtest("a beat that comes at any time wakes its packet") { bench =>
    val random = new Random(2)
    for (kind <- kinds) {
      val packet = HashPacket.random(random, kind, 120, esn = false)
      val round = HashEngine.turnaround(kind)
      for (delay <- 1 to round + 8) {
        bench.load(1, packet)
        bench.start(1, packet, base = 0, complete = false)
        bench.step()
        bench.write(packet, 0, 0)
        bench.grow(1, last = false)
        val begin = bench.cycle
        (0 until delay).foreach(_ => assert(bench.step().isEmpty))
        bench.write(packet, 0, 1)
        bench.grow(1, last = true)
        val done = Iterator.continually(bench.step()).take((units(packet) + 1) * round + 20).flatten.nextOption()
        assert(
          done.contains((1, expected(packet))),
          s"$kind, second beat $delay cycles after the first, begun in $begin"
        )
      }
    }
  }

  subtest("64 packets of any one hash take a unit every 4 cycles, and one alone a unit a turnaround") { bench =>
    val random = new Random(3)
    for (kind <- kinds) {
      val packet = HashPacket.random(random, kind, 4 * 64 - 12, esn = false)
      for (beat <- 0 until 4) { bench.write(packet, 0, beat); bench.step() }
      for (slot <- 0 until slots) { bench.load(slot, packet); bench.step() }

      // Ten times the packets in flight at once: the oldest go first, and no turn is lost.
      val count = 10 * HashEngine.turnaround(kind) / 4
      val starts = (0 until count).iterator
      val ends = Seq.newBuilder[Int]
      var free = (0 until slots).toList
      val readsBefore = bench.reads
      var firstRead = 0
      var done = 0
      while (done < count) {
        if (free.nonEmpty && starts.hasNext) {
          bench.start(free.head, packet, 0, complete = true)
          free = free.tail
          starts.next()
        }
        bench.step().foreach { case (slot, tag) =>
          assert(tag == expected(packet))
          free = free :+ slot
          done += 1
          ends += bench.cycle
        }
        if (firstRead == 0 && bench.reads > readsBefore) firstRead = bench.cycle
      }
      val afterLastTurn = HashEngine.latency(kind) + 4
      assert(bench.reads - readsBefore == 4 * count)
      assert(ends.result().last - firstRead == 4 * (count * units(packet) - 1) + afterLastTurn, kind)

      bench.start(0, packet, 0, complete = true)
      val before = bench.reads
      while (bench.reads == before) bench.step()
      val begin = bench.cycle
      while (bench.step().isEmpty) {}
      assert(bench.cycle - begin == (units(packet) - 1) * HashEngine.turnaround(kind) + afterLastTurn, kind)
    }
  }

  subtest("a wipe forgets packets and keys") { bench =>
    val random = new Random(4)
    for (kind <- kinds) {
      val packet = HashPacket.random(random, kind, 200, esn = true)
      val blank = packet.copy(auth = new Array[Byte](64))
      def tag(slot: Int): String = {
        bench.start(slot, packet, slot << ringBits, complete = true)
        Iterator.continually(bench.step()).flatten.next()._2
      }
      for (slot <- 0 until 2; beat <- 0 until 4) { bench.write(packet, slot << ringBits, beat); bench.step() }
      for (slot <- 0 until 2) { bench.load(slot, packet); bench.step() }
      assert(tag(1) == expected(packet))
      bench.start(0, packet, 0, complete = true)
      (0 until HashEngine.turnaround(kind)).foreach(_ => bench.step())
      bench.wipe(HashEngine.wipeCycles(slots))
      (0 until 2 * HashEngine.turnaround(kind)).foreach(_ => assert(bench.step().isEmpty))

      // What slot 1 gives now is what a key of zeros gives.
      val forgotten = tag(1)
      bench.load(0, blank)
      assert(tag(0) == forgotten && forgotten != expected(packet))
      check(bench, Seq.fill(8)(HashPacket.random(random, kind, 100, esn = false)), random)
    }
  }

  for (alone <- Seq(HashKind.sha1, HashKind.poly1305))
    test(s"an engine built for $alone alone") {
      simulate(new HashEngineHarness(Set(alone))) { dut =>
        val random = new Random(5)
        check(
          new HashEngineBench(dut),
          Seq.tabulate(70)(i => HashPacket.random(random, alone, 20 + 4 * i, i % 2 == 0)),
          random
        )
      }
    }

  test("an engine without a hash is refused") {
    intercept[IllegalArgumentException](simulate(new HashEngineHarness(Set()))(_ => ()))
  }
}
