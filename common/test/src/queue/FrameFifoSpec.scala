// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import sallyport.common.stream.{Pace, StreamHarness, StreamMatrix}

import scala.util.Random

class FrameFifoSpec extends StreamMatrix {
  private val meta = UInt(24.W)

  private def harness(params: FrameFifoParams) = new StreamHarness(meta, meta)(h => {
    val fifo = Module(new FrameFifo(meta, params))
    fifo.io.in <> h.in
    h.out <> fifo.io.out
    h.events(0) := fifo.io.droppedError
    h.events(1) := fifo.io.droppedOverflow
    h.events(2) := h.in.valid && !h.in.ready
  })

  test("stalls when full, drops what has an error") {
    checkMatrix(
      harness(FrameFifoParams(256, WhenFull.Stall)),
      slack = 256,
      packets = width => {
        val random = new Random(5)
        matrixPackets(width).map(p => p.copy(error = random.nextInt(8) == 0))
      }
    )(p => if (p.error) Nil else Seq(p))
  }

  test("stalls with few descriptors") {
    checkMatrix(harness(FrameFifoParams(256, 4, WhenFull.Stall)), slack = 1000)(Seq(_))
  }

  test("one-beat packets every cycle") {
    checkMatrix(
      harness(FrameFifoParams(64, WhenFull.Stall)),
      slack = 8,
      packets = matrixPackets(_, Seq.fill(20)(1 to 64).flatten)
    )(Seq(_))
  }

  test("a packet longer than the memory is dropped and the next one passes") {
    checkMatrix(harness(FrameFifoParams(16, WhenFull.Stall)), slack = 64)(p => if (p.beats > 16) Nil else Seq(p))
  }

  test("drops whole packets when full and counts each") {
    withBench(harness(FrameFifoParams(64, WhenFull.Drop))) { bench =>
      val random = new Random(7)
      val sent = matrixPackets(24).zipWithIndex.map { case (p, i) => p.copy(meta = i, error = random.nextInt(8) == 0) }
      bench.load(sent)
      for (pressure <- Pace.all; seed <- 1 to 3) {
        bench.run(Pace.Always, pressure, seed)
        val packets = bench.received
        val errors = bench.events(0)
        val overflows = bench.events(1)
        assert(bench.events(2) == 0, "the input was stalled")
        val clue = s"pressure $pressure seed $seed: $errors errors, $overflows overflows"
        info(clue)
        comparePackets(packets, packets.map(p => sent(p.meta.toInt)), clue)
        assert(packets.zip(packets.drop(1)).forall { case (a, b) => a.meta < b.meta }, clue)
        assert(errors == sent.count(_.error), clue)
        assert(packets.length + overflows + errors == sent.length, clue)
// Three packets are longer than the memory. Two fill it, so that they meet packets before them or
// hinder those behind them.
        if (pressure == Pace.Always) assert(overflows <= 3 + 2 * 2, clue)
      }
    }
  }
}
