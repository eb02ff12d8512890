// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._
import chisel3.util._

/**
 * Forwards values that a memory does not show yet, when rows are read, changed and written back in
 * a pipeline. A row may follow itself two cycles later.
 *
 * `read` names a row, to the memory as well, whose answer is at `stored` `memoryLatency` cycles
 * later. The row's value is at `state` `latency` cycles after `read`, and `update` may give its new
 * value the cycle after that. `write` brings it to the memory one more cycle later, from a register
 * of its own. Reads that may be updated are two cycles apart or more. Any other read may miss the
 * update of the read in the cycle before it.
 *
 * `set` writes a row from outside that pipeline, a cycle later; it comes while no read is under way
 * that may be updated.
 */
class RowForward(rowBits: Int, stateBits: Int, memoryLatency: Int) extends Module {
  val latency: Int = memoryLatency + 1

  val io = IO(new Bundle {
    val read = Flipped(Valid(UInt(rowBits.W)))
    val stored = Input(UInt(stateBits.W))
    val state = Output(UInt(stateBits.W))

    /** `state` is not what the memory answered. */
    val forwarded = Output(Bool())

    /** Of the row that `read` named `latency` + 1 cycles before. */
    val update = Flipped(Valid(UInt(stateBits.W)))
    val set = Flipped(Valid(new MemoryWrite(rowBits, stateBits)))
    val write = Valid(new MemoryWrite(rowBits, stateBits))
  })

  /** A value that is complete, and its row. */
  private class Result extends Bundle {
    val valid = Bool()
    val row = UInt(rowBits.W)
    val state = UInt(stateBits.W)
  }

  private val valids = Seq.iterate(io.read.valid, latency + 2)(RegNext(_, false.B))
  private val rows = Seq.iterate(io.read.bits, latency + 2)(RegNext(_))
  private val updated = rows(latency + 1)

  // The newest results. A read misses a write of its own cycle or a later one. The results between
  // that write and the memory's answer are of reads that are two cycles apart or more.
  private val results = RegInit(VecInit.fill(RowForward.results(memoryLatency))(0.U.asTypeOf(new Result)))
  when(io.update.valid) {
    for ((older, newer) <- results.tail.zip(results)) older := newer
    results.head.valid := true.B
    results.head.row := updated
    results.head.state := io.update.bits
  }
  when(io.set.valid)(results.foreach(_.valid := false.B))

  // With the memory's answer: that or a newer value. Matches are made a cycle ahead, against what
  // the results are then.
  private val held = results.map(result => result.valid && result.row === rows(memoryLatency - 1))
  private val shifted = (updated === rows(memoryLatency - 1)) +: held.init
  private val matches = held.zip(shifted).map { case (stays, moves) => RegNext(Mux(io.update.valid, moves, stays)) }
  private val known = RegNext(PriorityMux(matches.zip(results.map(_.state)) :+ (true.B -> io.stored)))

  // The read two cycles ahead is not done then: its result is the newest a cycle later.
  private val follows = RegNext(io.update.valid && updated === rows(memoryLatency), false.B)
  io.state := Mux(follows, results.head.state, known)
  io.forwarded := follows || RegNext(VecInit(matches).asUInt.orR)

  io.write.valid := RegNext(io.set.valid || io.update.valid, false.B)
  io.write.bits.index := RegNext(Mux(io.set.valid, io.set.bits.index, updated))
  io.write.bits.data := RegNext(Mux(io.set.valid, io.set.bits.data, io.update.bits))

  assert(!(io.update.valid && !valids.last), "an update of no row")
  assert(!(io.update.valid && RegNext(io.update.valid, false.B)), "reads with updates are two cycles apart")
  assert(!(io.set.valid && io.update.valid), "a row is set while one is being changed")
}

object RowForward {

  /** Results that are kept, of a memory that answers after so many cycles. */
  def results(memoryLatency: Int): Int = (memoryLatency + 2) / 2
}
