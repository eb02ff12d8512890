// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import chisel3._
import chisel3.util._

/**
 * A memory whose rows packets change in a pipeline, in which a row may follow itself two cycles
 * later, and which software reads and writes meanwhile.
 *
 * A row named by `read` is at `state` [[UsageMemory.latency]] cycles later; the cycle after,
 * `update` may give its new value. Packets' reads are two cycles apart or more. Software takes a
 * cycle between: `software.ready` is high when no packet comes, so it waits for one cycle for them.
 * All act in the order in which they come; what the memory does not show yet is forwarded. What
 * software reads lacks the packet of the cycle before. It waits for [[UsageMemory.writeInterval]]
 * cycles behind a write, but while `clearing`: then it writes zeros, a row a cycle, and no packet
 * comes until that many cycles later.
 *
 * [[ReplayForward]] is built alike, but there software's accesses hold up traffic: this saves the
 * forwarding of one result of 1088 bits. One read port, whose row and outputs have a register each,
 * and one write port, so that the memory can be URAM. A row's name leads to hundreds of blocks, so
 * nothing lies between its register and them.
 */
class UsageMemory(rowBits: Int, stateBits: Int) extends Module {
  val io = IO(new Bundle {
    val read = Flipped(Valid(UInt(rowBits.W)))
    val state = Output(UInt(stateBits.W))

    /** Of the row that `read` named [[UsageMemory.latency]] + 1 cycles before. */
    val update = Flipped(Valid(UInt(stateBits.W)))
    val software = Flipped(Decoupled(new Bundle {
      val write = Bool()
      val row = UInt(rowBits.W)
      val state = UInt(stateBits.W)
    }))
    val clearing = Input(Bool())
  })

  private val memory = SyncReadMem(1 << rowBits, UInt(stateBits.W))

  // Stage 0: a packet or software.
  private val recent = RegInit(0.U(UsageMemory.writeInterval.W))
  io.software.ready := io.clearing || (!io.read.valid && recent === 0.U)
  private val sets = io.software.fire && io.software.bits.write
  recent := Mux(sets, Fill(UsageMemory.writeInterval, true.B), recent >> 1)
  private val row = Mux(io.read.valid, io.read.bits, io.software.bits.row)
  private val reads = io.read.valid || (io.software.fire && !io.software.bits.write)
  private val rows = Seq.iterate(row, 6)(RegNext(_))
  private val read3 = RegNext(memory.read(rows(1), RegNext(reads, false.B)))
  private val sets4 = ShiftRegister(sets, 4, false.B, true.B)
  private val sets5 = RegNext(sets4, false.B)
  private val packets = Seq.iterate(io.read.valid, 6)(RegNext(_, false.B))

  /** The row that software writes, while it is in the pipeline. */
  private val set = RegEnable(io.software.bits.state, sets)

  /** A value that is complete, and its row. */
  private class Result extends Bundle {
    val valid = Bool()
    val row = UInt(rowBits.W)
    val state = UInt(stateBits.W)
  }

  // The last results, newest first. A read misses a write of its own cycle or a later one. Between
  // that write and stage 3 at most three results become complete: two of packets, and one
  // of software.
  private val results = RegInit(VecInit.fill(3)(0.U.asTypeOf(new Result)))
  private val commits = io.update.valid || sets5
  when(commits) {
    results(2) := results(1)
    results(1) := results(0)
    results(0).valid := true.B
    results(0).row := rows(5)
    results(0).state := Mux(sets5, set, io.update.bits)
  }
  when(RegNext(commits, false.B))(memory.write(results(0).row, results(0).state))

  // Stage 3: the memory's value or a newer one. The result two cycles ahead, and software's row if
  // that is one, is not among the results yet: stage 4 takes it.
  private val newer = results.map(result => (result.valid && result.row === rows(3)) -> result.state)
  private val state4 = RegNext(MuxCase(read3, newer))
  private val two4 = RegNext(commits && rows(5) === rows(3), false.B)
  private val one4 = RegNext(sets4 && rows(4) === rows(3), false.B)
  io.state := Mux(one4, set, Mux(two4, results(0).state, state4))

  assert(!(io.read.valid && packets(1)), "packets' reads are at least two cycles apart")
  assert(!(io.read.valid && (io.clearing || RegNext(io.clearing, true.B))), "a packet while the memory is cleared")
  assert(!(io.update.valid && !packets(5)), "an update of no row")
}

object UsageMemory {

  /** Cycles from a row's name to its value: its register, memory, output register, forwarding. */
  val latency: Int = 4

  /**
   * Cycles after a write of software's in which it has to wait: the row is still in the
   * pipeline.
   */
  val writeInterval: Int = 6
}
