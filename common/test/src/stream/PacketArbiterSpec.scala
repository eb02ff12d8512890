// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import sallyport.common.queue.PacketQueue

class PacketArbiterSpec extends StreamMatrix {
  private val meta = UInt(24.W)

  /**
   * The source's packets go to input `meta mod 3`, whole; each input has a queue, so that several
   * inputs wait at once.
   */
  private def harness = new StreamHarness(meta, meta)(h => {
    val arbiter = Module(new PacketArbiter(meta, 3))
    val target = h.in.bits.meta % 3.U
    val queues = Seq.fill(3)(Module(new PacketQueue(meta, 64)))
    for ((queue, i) <- queues.zipWithIndex) {
      queue.io.in.valid := h.in.valid && target === i.U
      queue.io.in.bits := h.in.bits
      arbiter.io.in(i) <> queue.io.out
    }
    h.in.ready := VecInit(queues.map(_.io.in.ready))(target)
    h.out <> arbiter.io.out
    // An input that waits sees at most one packet of each other input go by.
    val passed = RegInit(VecInit.fill(3)(0.U(4.W)))
    for (i <- 0 until 3) {
      val ended =
        (0 until 3).filter(_ != i).map(j => arbiter.io.in(j).fire && arbiter.io.in(j).bits.last).reduce(_ || _)
      when(!arbiter.io.in(i).valid || arbiter.io.in(i).fire) { passed(i) := 0.U }.elsewhen(ended) {
        passed(i) := passed(i) + 1.U
      }
    }
    h.events(0) := passed.map(_ > 2.U).reduce(_ || _)
  })

  test("joins whole packets, in order for each input, fairly") {
    withBench(harness) { bench =>
      val sent = matrixPackets(24).zipWithIndex.map { case (p, i) => p.copy(meta = i * 7 + i / 5) }
      val byInput = sent.groupBy(_.meta % 3)
      bench.load(sent)
      for (idle <- Pace.all; pressure <- Pace.all; seed <- 1 to 2) {
        bench.run(idle, pressure, seed)
        val received = bench.received
        val clue = s"idle $idle, pressure $pressure, seed $seed"
        assert(bench.events(0) == 0, s"$clue: an input waited for more than one packet of another")
        for ((input, packets) <- byInput)
          comparePackets(received.filter(_.meta % 3 == input), packets, s"$clue, input $input")
      }
      bench.run(Pace.Always, Pace.Always, 1)
      info(s"${bench.cycles} cycles for ${sent.map(_.beats).sum} beats, latency ${bench.latency}")
    }
  }

  test("one-beat packets of one input alone run every cycle") {
    checkMatrix(
      new StreamHarness(meta, meta)(h => {
        val arbiter = Module(new PacketArbiter(meta, 2))
        arbiter.io.in(0) <> h.in
        arbiter.io.in(1).valid := false.B
        arbiter.io.in(1).bits := DontCare
        h.out <> arbiter.io.out
      }),
      slack = 2
    )(Seq(_))
  }
}
