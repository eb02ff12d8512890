// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import sallyport.common.queue.PacketQueue

class PacketPrioritySpec extends StreamMatrix {
  private val meta = UInt(24.W)

  /** The source's packets go to input `meta mod 3`, whole, behind a queue each. */
  private def harness = new StreamHarness(meta, meta)(h => {
    val join = Module(new PacketPriority(meta, 3))
    val target = h.in.bits.meta % 3.U
    val queues = Seq.fill(3)(Module(new PacketQueue(meta, 64)))
    for ((queue, i) <- queues.zipWithIndex) {
      queue.io.in.valid := h.in.valid && target === i.U
      queue.io.in.bits := h.in.bits
      join.io.in(i) <> queue.io.out
    }
    h.in.ready := VecInit(queues.map(_.io.in.ready))(target)
    h.out <> join.io.out

    // While an input waits, packets of those further back begin: one at most, which was offered
    // before. And packets of those in front.
    val begins = join.io.in.map { in =>
      val inside = RegInit(false.B)
      when(in.fire) { inside := !in.bits.last }
      in.fire && !inside
    }
    def passed(input: Int, by: Seq[Int], most: Int): Bool = {
      val count = RegInit(0.U(4.W))
      val waits = join.io.in(input).valid && !join.io.in(input).fire
      when(!waits) { count := 0.U }.elsewhen(by.map(begins).reduce(_ || _) && !count.andR) { count := count + 1.U }
      count > most.U
    }
    h.events(0) := Seq(passed(0, Seq(1, 2), most = 1), passed(1, Seq(2), most = 1)).reduce(_ || _)
    h.events(1) := Seq(passed(2, Seq(0, 1), most = 1), passed(1, Seq(0), most = 1)).reduce(_ || _)
  })

  test("joins whole packets, in order for each input; of those further back one at most goes while one waits") {
    withBench(harness) { bench =>
      val sent = matrixPackets(24).zipWithIndex.map { case (p, i) => p.copy(meta = i * 7 + i / 5) }
      val byInput = sent.groupBy(_.meta % 3)
      bench.load(sent)
      var passedBy = 0
      for (idle <- Pace.all; pressure <- Pace.all; seed <- 1 to 2) {
        bench.run(idle, pressure, seed)
        val clue = s"idle $idle, pressure $pressure, seed $seed"
        assert(bench.events(0) == 0, s"$clue: two packets went before one in front of them")
        passedBy += bench.events(1)
        for ((input, packets) <- byInput)
          comparePackets(bench.received.filter(_.meta % 3 == input), packets, s"$clue, input $input")
      }
      assert(passedBy > 0, "never did two packets go before one further back")
    }
  }

  test("one-beat packets of one input alone run every cycle") {
    checkMatrix(
      new StreamHarness(meta, meta)(h => {
        val join = Module(new PacketPriority(meta, 2))
        join.io.in(1) <> h.in
        join.io.in(0).valid := false.B
        join.io.in(0).bits := DontCare
        h.out <> join.io.out
      }),
      slack = 3
    )(Seq(_))
  }
}
