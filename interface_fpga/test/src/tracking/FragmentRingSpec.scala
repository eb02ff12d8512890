// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tracking

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.queue.{FrameFifoParams, WhenFull}
import sallyport.common.simulation.CompiledOnce
import sallyport.common.stream.{NoMeta, PacketStream}

import scala.collection.mutable
import scala.util.Random

class FragmentRingSpec extends AnyFunSuite with CompiledOnce {
  private val config = TrackerConfig.small
  private def ring(frames: Int = config.ringBeats) =
    new FragmentRing(new NoMeta, FrameFifoParams(config.ringBeats, frames, WhenFull.Drop))

  /** A fragment: its number, which is in each beat, its bytes and the mark of its datagram. */
  private case class Fragment(number: Int, bytes: Int, mark: Int, born: Int = 7) {
    val beats: Int = (bytes + PacketStream.dataBytes - 1) / PacketStream.dataBytes
  }

  /** Drives a ring and notes what leaves it. */
  private class Bench(dut: FragmentRing[NoMeta]) {
    val left = mutable.Buffer.empty[Fragment]
    var dropped = 0
    private var beats = 0
    private def flag(signal: chisel3.Bool): Boolean = signal.peek().litToBoolean

    /** The way out is open. */
    var willing = true

    def step(): Unit = {
      dut.io.out.ready.poke(willing)
      if (willing && flag(dut.io.out.valid)) {
        val out = dut.io.out.bits
        beats += 1
        if (flag(out.last)) {
          val meta = out.meta
          def number(value: chisel3.UInt): Int = value.peek().litValue.toInt
          val fragment =
            Fragment(number(out.data), number(meta.length), number(meta.mark), number(meta.born))
          assert(beats == fragment.beats, s"a fragment of ${fragment.bytes} B leaves in $beats beats")
          left += fragment
          beats = 0
        }
      }
      dropped += dut.io.dropFull.peek().litValue.toInt
      dut.clock.step()
    }
    def run(cycles: Int): Unit = for (_ <- 0 until cycles) step()

    def put(fragment: Fragment): Unit = {
      val in = dut.io.in
      in.valid.poke(true)
      in.bits.data.poke(fragment.number)
      in.bits.meta.length.poke(fragment.bytes)
      in.bits.meta.mark.poke(fragment.mark)
      in.bits.meta.born.poke(fragment.born)
      for (beat <- 1 to fragment.beats) {
        assert(flag(in.ready), "a fragment has to wait at the ring")
        in.bits.last.poke(beat == fragment.beats)
        in.bits.bytes.poke(if (beat == fragment.beats) fragment.bytes - 64 * (beat - 1) else 64)
        step()
      }
      in.valid.poke(false)
    }

    def tick(): Unit = {
      dut.io.tick.poke(true)
      step()
      dut.io.tick.poke(false)
    }

    def came(mark: Int): Unit = {
      dut.io.came.valid.poke(true)
      dut.io.came.bits.poke(mark)
      step()
      dut.io.came.valid.poke(false)
    }

    /** The fragments that left since the last call, once no more leave. */
    def taken(): Seq[Fragment] = {
      run(2 * config.ringBeats)
      val taken = left.toSeq
      left.clear()
      taken
    }
  }

  private def fragments(count: Int, bytes: => Int): Seq[Fragment] =
    Seq.tabulate(count)(n => Fragment(n + 1, bytes, n % (1 << TrackerConfig.markBits), born = n))

  test("fragments wait for a tick or a first fragment; each round lets out those that are there, once and in order") {
    simulate(ring()) { dut =>
      val bench = new Bench(dut)
      val dice = new Random(7)
      for (begins <- Seq[() => Unit](() => bench.tick(), () => bench.came(63)); count <- Seq(1, 2, 30)) {
        val waiting = fragments(count, 60 + dice.nextInt(600))
        waiting.foreach(bench.put)
        assert(bench.taken().isEmpty, "a fragment leaves although nothing has happened")
        dut.io.busy.expect(true)
        begins()
        assert(bench.taken() == waiting)
        dut.io.busy.expect(false)
        begins()
        assert(bench.taken().isEmpty && bench.dropped == 0)
      }

      // One that comes back goes round no second time by itself.
      val one = Fragment(1, 200, mark = 5)
      bench.put(one)
      for (_ <- 1 to 3) {
        bench.tick()
        assert(bench.taken() == Seq(one))
        bench.put(one)
        assert(bench.taken().isEmpty)
      }
      bench.tick()
      bench.taken()

      // It comes in just behind the first one of its datagram, and finds it without a tick.
      bench.came(5)
      bench.put(one)
      assert(bench.taken() == Seq(one))
      bench.came(5)
      bench.run(4 * FragmentRing.hopeCycles)
      bench.put(one)
      assert(bench.taken().isEmpty, "a first fragment of long ago is remembered")
    }
  }

  test("without room for the longest frame the oldest give way, at a beat a cycle, but for those with a first one") {
    simulate(ring()) { dut =>
      val bench = new Bench(dut)
      val most = config.ringBeats - TrackerConfig.frameBeats
      def filling(beats: Int): Seq[Fragment] = fragments(beats, 64)

      // Just as much as leaves room: all stay. A beat more: the oldest go, and a round looks at the
      // others.
      val fits = filling(most)
      fits.foreach(bench.put)
      assert(bench.taken().isEmpty && bench.dropped == 0)
      val further = Fragment(9999, 64, mark = 1)
      bench.put(further)
      val looked = bench.taken()
      assert(bench.dropped >= 1 && bench.dropped <= 4, s"${bench.dropped} gave way")
      bench.tick()
      assert(looked ++ bench.taken() == (fits :+ further).drop(bench.dropped), "others than the oldest gave way")

      // A flood as fast as fragments can come, of the shortest and of longer ones: the last ones
      // stay, so each found room when it came. The way out may be closed meanwhile.
      for (willing <- Seq(true, false); bytes <- Seq(64, 65, 300)) {
        bench.dropped = 0
        bench.willing = willing
        val flood = fragments(2000, bytes).map(_.copy(mark = 2))
        for (fragment <- flood) {
          bench.put(fragment)
          bench.run(2 - fragment.beats)
        }
        bench.run(2 * config.ringBeats)
        bench.willing = true
        bench.tick()
        val looked = bench.taken()
        assert(looked.size + bench.dropped == flood.size && bench.dropped > 0)
        val rest = flood.takeRight(most / 2 / flood.head.beats)
        assert(looked.takeRight(rest.size) == rest, s"of $bytes B one found no room")
        dut.io.busy.expect(false)
      }

      // Among junk that makes the ring crowded, one whose first fragment has come is let out, not
      // dropped.
      bench.dropped = 0
      val wanted = Fragment(4242, 64, mark = 9)
      bench.put(wanted)
      filling(most - 1).map(_.copy(mark = 2)).foreach(bench.put)
      bench.came(9)
      for (junk <- fragments(TrackerConfig.frameBeats, 64)) bench.put(junk.copy(mark = 2))
      assert(bench.taken().contains(wanted))
    }
  }

  test("a ring of few frames lets the oldest give way while the longest leaves, and takes each that comes meanwhile") {
    val frames = 128
    simulate(ring(frames)) { dut =>
      val bench = new Bench(dut)
      for (longest <- Seq(false, true)) {
        bench.dropped = 0
        if (longest) bench.put(Fragment(7777, PacketStream.maxFrameBytes, mark = 2))
        val flood = fragments(400, 40).map(_.copy(mark = 2))
        for (fragment <- flood) {
          bench.put(fragment)
          bench.run(1)
        }
        bench.run(2 * config.ringBeats)
        bench.tick()
        val looked = bench.taken()
        assert(looked.size + bench.dropped == flood.size + (if (longest) 1 else 0))
        val rest = flood.takeRight((frames - FragmentRing.spareFrames) / 2)
        assert(looked.takeRight(rest.size) == rest, "one found no room")
        dut.io.busy.expect(false)
      }
    }
  }
}
