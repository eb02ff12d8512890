// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mac

import chisel3._
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.Packet

import scala.collection.mutable
import scala.util.Random

class MacReceiveSpec extends AnyFunSuite with CompiledOnce {

  private case class Frame(bytes: Seq[Byte], fcsError: Boolean = false, gap: Int = 0)

  private def frame(length: Int, random: Random, fcsError: Boolean = false): Frame =
    Frame(Seq.fill(length)(random.nextInt().toByte), fcsError, random.nextInt(3))

  /** Name of the counter a frame belongs to, or "" if it passes. */
  private def verdict(frame: Frame): String =
    if (frame.fcsError) "badFcs"
    else if (frame.bytes.length < 60) "undersize"
    else if (frame.bytes.length > 9596) "oversize"
    else ""

  private class Bench(dut: MacReceive) {
    val counts: mutable.Map[String, Int] = mutable.Map.empty.withDefaultValue(0)
    val received: mutable.Buffer[Seq[Byte]] = mutable.Buffer.empty
    private var partial = Vector.empty[Byte]
    private var start = -1
    private var cycle = 0
    var firstOut: Int = -1

    private def count(name: String, event: Bool): Unit = if (event.peek().litToBoolean) counts(name) += 1

    def step(): Unit = {
      val events = dut.io.events
      count("rxFrames", events.rxFrames)
      counts("rxBytes") += events.rxBytes.peek().litValue.toInt
      count("badFcs", events.dropBadFcs)
      count("undersize", events.dropUndersize)
      count("oversize", events.dropOversize)
      count("overflow", events.dropOverflow)
      count("priorityOverflow", events.dropPriorityOverflow)
      count("priority", events.priority)
      count("notReady", events.dropNotReady)
      val out = dut.io.out
      if (out.valid.peek().litToBoolean && out.ready.peek().litToBoolean) {
        if (firstOut < 0) firstOut = cycle
        val count = out.bits.bytes.peek().litValue.toInt
        val data = out.bits.data.peek().litValue
        assert(data >> (8 * count) == 0, "bytes above `bytes` not zero")
        partial ++= Packet.bytesOf(data, count)
        start = out.bits.meta.length.peek().litValue.toInt
        if (out.bits.last.peek().litToBoolean) {
          assert(start == partial.length, "the length in the metadata")
          received += partial
          partial = Vector.empty
        }
      }
      cycle += 1
      dut.clock.step()
    }

    def send(frame: Frame): Int = {
      val beats = frame.bytes.grouped(64).toSeq
      for ((beat, i) <- beats.zipWithIndex) {
        dut.io.mac.valid.poke(true)
        // What a MAC leaves above the last byte is anything.
        dut.io.mac.bits.data.poke(Packet.littleEndian(beat.padTo(64, 0xa5.toByte)))
        dut.io.mac.bits.bytes.poke(beat.length)
        dut.io.mac.bits.last.poke(i == beats.length - 1)
        dut.io.mac.bits.error.poke(frame.fcsError && i == beats.length - 1)
        step()
      }
      val end = cycle
      dut.io.mac.valid.poke(false)
      for (_ <- 0 until frame.gap) step()
      end
    }

    def idle(cycles: Int): Unit = for (_ <- 0 until cycles) step()
  }

  test("good frames pass, each other one is counted once under its own name; nothing blocks") {
    simulate(new MacReceive(256, 256)) { dut =>
      val bench = new Bench(dut)
      dut.io.enable.poke(true)
      dut.io.out.ready.poke(true)

      val end = bench.send(Frame(Seq.fill(60)(7)))
      bench.idle(10)
      info(s"latency ${bench.firstOut - end + 1} cycles from the last beat in to the first beat out")
      assert(bench.firstOut - end + 1 == 5)
      bench.received.clear()
      bench.counts.clear()

      val random = new Random(1)
      val lengths = (1 to 70) ++ Seq(127, 128, 129, 1514, 9535, 9536, 9537, 9595, 9596, 9597, 9600, 9601, 16383)
      val frames = random.shuffle(lengths).flatMap(n => Seq(frame(n, random), frame(60 + n % 20, random))) ++
        Seq(
          30, 60, 64, 65, 1000, 9700
        ).map(frame(_, random, fcsError = true)) ++ Seq.fill(20)(frame(60, random).copy(gap = 0))
      frames.foreach(bench.send)
      bench.idle(200)
      assert(bench.received == frames.filter(verdict(_) == "").map(_.bytes))
      for (name <- Seq("badFcs", "undersize", "oversize"))
        assert(bench.counts(name) == frames.count(verdict(_) == name), name)
      assert(bench.counts("rxFrames") == frames.size)
      assert(bench.counts("rxBytes") == frames.map(f => (f.bytes.length + 4) min 16383).sum)
      assert(bench.counts("overflow") + bench.counts("notReady") == 0)
      assert(bench.counts("priority") + bench.counts("priorityOverflow") == 0)

      // A consumer that stalls: what fits is kept, the rest is overflow.
      bench.received.clear()
      bench.counts.clear()
      dut.io.out.ready.poke(false)
      val many = Seq.fill(300)(frame(60 + random.nextInt(200), random))
      many.foreach(bench.send)
      dut.io.out.ready.poke(true)
      bench.idle(400)
      assert(bench.counts("overflow") > 0)
      assert(bench.received.size + bench.counts("overflow") == many.size)
      assert(bench.received.toSet.subsetOf(many.map(_.bytes).toSet))

      // Not ready: judged at the frame's first beat.
      bench.received.clear()
      bench.counts.clear()
      dut.io.enable.poke(false)
      bench.send(frame(30, random))
      bench.send(frame(300, random).copy(gap = 2))
      dut.io.enable.poke(true)
      val after = frame(60, random)
      bench.send(after)
      bench.idle(20)
      assert(bench.counts("notReady") == 2)
      assert(bench.counts("undersize") == 0)
      assert(bench.counts("rxFrames") == 3)
      assert(bench.received == Seq(after.bytes))
    }
  }

  /** An untagged IPv4 frame with that DSCP; the rest of it is random. */
  private def ipv4(length: Int, dscp: Int, random: Random): Frame = {
    val whole = frame(length, random)
    val header = Seq(0x08, 0x00, 0x45, dscp << 2 | random.nextInt(4)).map(_.toByte)
    // A fragment's offset: no control, whatever the random bytes are.
    whole.copy(bytes = whole.bytes.patch(12, header, 4).patch(20, Seq[Byte](0, 1), 2))
  }

  test("marked frames pass those that wait and find room; the latency is that of the others") {
    simulate(new MacReceive(256, 256)) { dut =>
      val bench = new Bench(dut)
      val random = new Random(2)
      val (ef, cs6) = (46, 48)
      dut.io.enable.poke(true)
      dut.io.priorityDscps.poke((BigInt(1) << ef) | (BigInt(1) << cs6))
      for ((dscp, length) <- Seq(0 -> 60, ef -> 60, 0 -> 1514, cs6 -> 1514)) {
        dut.io.out.ready.poke(true)
        bench.firstOut = -1
        val end = bench.send(ipv4(length, dscp, random).copy(gap = 0))
        bench.idle(60)
        assert(bench.firstOut - end + 1 == 5, s"DSCP $dscp, $length B")
      }

      // 300 beats of frames of one beat meet a queue of 256; every tenth is marked.
      for (marked <- Seq(true, false)) {
        bench.received.clear()
        bench.counts.clear()
        dut.io.priorityDscps.poke(if (marked) BigInt(1) << ef else BigInt(0))
        dut.io.out.ready.poke(false)
        val frames = Seq.tabulate(330)(n => ipv4(64, if (n % 10 == 9) ef else cs6, random).copy(gap = 0))
        frames.foreach(bench.send)
        bench.idle(5)
        dut.io.out.ready.poke(true)
        bench.idle(400)
        val (high, low) = frames.indices.toSeq.partition(n => marked && n % 10 == 9)
        // Two beats had left the queues before.
        val expected = low.take(2) ++ high ++ low.slice(2, 2 + 256)
        val order = bench.received.map(bytes => frames.indexWhere(_.bytes == bytes)).toSeq
        assert(order == expected, s"marked $marked")
        assert(bench.counts("priority") == high.size && bench.counts("priorityOverflow") == 0)
        assert(bench.counts("overflow") == low.size - 2 - 256)
      }

      // More of them than their queue holds: they are dropped under a name of their own, the
      // others pass.
      bench.received.clear()
      bench.counts.clear()
      dut.io.priorityDscps.poke(BigInt(1) << ef)
      dut.io.out.ready.poke(false)
      val frames = Seq.tabulate(400)(n => ipv4(60 + n % 5, if (n % 4 == 0) 0 else ef, random).copy(gap = 0))
      frames.foreach(bench.send)
      bench.send(ipv4(1514, ef, random).copy(fcsError = true, gap = 0))
      dut.io.out.ready.poke(true)
      bench.idle(500)
      assert(bench.counts("priority") == 257 && bench.counts("priorityOverflow") == 300 - 257)
      assert(bench.counts("overflow") == 0 && bench.counts("badFcs") == 1)
      assert(bench.received.size == 100 + 257)
    }
  }
}
