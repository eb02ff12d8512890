// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._

/**
 * A memory whose rows are read, changed and written back in a pipeline in which a row may follow
 * itself two cycles later.
 *
 * A row named by `read` is at `state` [[ReplayMemory.latency]] cycles later; the cycle after,
 * `update` may give its new value. What the memory does not show yet is forwarded. Reads are two
 * cycles apart or more.
 *
 * `set` writes a row from outside that pipeline; it comes while no read is under way that may be
 * updated. One read port with two output registers and one write port, so that the memory can
 * be URAM.
 */
class ReplayMemory(rowBits: Int, stateBits: Int) extends Module {
  val io = IO(new Bundle {
    val read = Flipped(Valid(UInt(rowBits.W)))
    val state = Output(UInt(stateBits.W))

    /** Of the row that `read` named [[ReplayMemory.latency]] + 1 cycles before. */
    val update = Flipped(Valid(UInt(stateBits.W)))
    val set = Flipped(Valid(new Bundle {
      val row = UInt(rowBits.W)
      val state = UInt(stateBits.W)
    }))
  })

  private val memory = SyncReadMem(1 << rowBits, UInt(stateBits.W))

  /** A value that is complete, and its row. */
  private class Result extends Bundle {
    val valid = Bool()
    val row = UInt(rowBits.W)
    val state = UInt(stateBits.W)
  }

  private val read3 = RegNext(RegNext(memory.read(io.read.bits, io.read.valid)))
  private val valid = Seq.iterate(io.read.valid, 6)(RegNext(_, false.B))
  private val row3 = ShiftRegister(io.read.bits, 3)
  private val row5 = ShiftRegister(row3, 2)

  // The last two results. A read misses a write of its own cycle or a later one. Reads two cycles
  // apart or more finish at most one other result between that write and stage 3.
  private val last = RegInit(0.U.asTypeOf(new Result))
  private val older = RegInit(0.U.asTypeOf(new Result))

  // Stage 3: the memory's value or a newer one. The read two cycles ahead is not done yet: stage 4
  // takes its result.
  private def matches(result: Result): Bool = result.valid && result.row === row3
  private val state4 = RegNext(Mux(matches(last), last.state, Mux(matches(older), older.state, read3)))
  private val forward4 = RegNext(io.update.valid && row5 === row3, false.B)
  io.state := Mux(forward4, last.state, state4)

  when(io.update.valid) {
    older := last
    last.valid := true.B
    last.row := row5
    last.state := io.update.bits
  }
  private val written = RegNext(io.update.valid, false.B)
  when(io.set.valid || written) {
    memory.write(
      Mux(io.set.valid, io.set.bits.row, last.row),
      Mux(io.set.valid, io.set.bits.state, last.state)
    )
  }
  when(io.set.valid) {
    last.valid := false.B
    older.valid := false.B
  }

  assert(!(io.read.valid && valid(1)), "reads are at least two cycles apart")
  assert(!(io.update.valid && !valid(5)), "an update of no row")
  assert(!(io.set.valid && (io.update.valid || written)), "a row is set while one is being changed")
}

object ReplayMemory {

  /** Cycles from a row's name to its value: memory, two output registers, forwarding. */
  val latency: Int = 4
}
