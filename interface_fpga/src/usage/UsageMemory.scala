// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import chisel3._
import chisel3.util._
import sallyport.common.memory.{MemoryBinding, MemoryPipe, RowMemory}

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
 * [[sallyport.common.memory.RowForward]] is built alike, but there software's accesses hold up
 * traffic: this saves the forwarding of one result of 1088 bits.
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

  import UsageMemory.{changedAt, latency, pipe}
  private val memory = Module(new RowMemory(1 << rowBits, stateBits, pipe))

  // Stage 0: a packet or software.
  private val recent = RegInit(0.U(UsageMemory.writeInterval.W))
  io.software.ready := io.clearing || (!io.read.valid && recent === 0.U)
  private val sets = io.software.fire && io.software.bits.write
  recent := Mux(sets, Fill(UsageMemory.writeInterval, true.B), recent >> 1)
  private val row = Mux(io.read.valid, io.read.bits, io.software.bits.row)
  private val reads = io.read.valid || (io.software.fire && !io.software.bits.write)
  private val rows = Seq.iterate(row, changedAt + 1)(RegNext(_))
  private val set = Seq.iterate(sets, changedAt + 1)(RegNext(_, false.B))
  private val packets = Seq.iterate(io.read.valid, changedAt + 1)(RegNext(_, false.B))
  memory.io.read.valid := reads
  memory.io.read.bits := row

  /** The row that software writes, while it is in the pipeline. */
  private val written = RegEnable(io.software.bits.state, sets)

  /** A value that is complete, and its row. */
  private class Result extends Bundle {
    val valid = Bool()
    val row = UInt(rowBits.W)
    val state = UInt(stateBits.W)
  }

  // The last results, newest first. A read misses a write of its own cycle or a later one. Those
  // between that write and the memory's answer are of packets, two cycles apart, and one
  // of software.
  private val unseen = (pipe.latency + 1) / 2 + 1
  private val results = RegInit(VecInit.fill(unseen)(0.U.asTypeOf(new Result)))
  private val newest = results.head
  private val commits = io.update.valid || set(changedAt)
  private val committed = Mux(set(changedAt), written, io.update.bits)
  when(commits) {
    for ((older, newer) <- results.tail.zip(results)) older := newer
    newest.valid := true.B
    newest.row := rows(changedAt)
    newest.state := committed
  }
  memory.write(commits, rows(changedAt), committed)

  // With the memory's answer: that or a newer value. The result two cycles ahead, and software's
  // row if that is one, is not among the results yet: the next stage takes it.
  private val answered = latency - 1
  private val newer = results.map(result => (result.valid && result.row === rows(answered)) -> result.state)
  private val known = RegNext(MuxCase(memory.io.row, newer))
  private val two = RegNext(commits && rows(changedAt) === rows(answered), false.B)
  private val one = RegNext(set(changedAt - 1) && rows(changedAt - 1) === rows(answered), false.B)
  io.state := Mux(one, written, Mux(two, newest.state, known))

  assert(!(io.read.valid && packets(1)), "packets' reads are at least two cycles apart")
  assert(!(io.read.valid && (io.clearing || RegNext(io.clearing, true.B))), "a packet while the memory is cleared")
  assert(!(io.update.valid && !packets(changedAt)), "an update of no row")
}

object UsageMemory {

  /** Banks of two columns: synthesis packs 130 bits of 32 Ki rows into 15 URAMs, not into 16. */
  private val pipe = MemoryPipe.banks.copy(bankRows = Some(2 * MemoryBinding.columnRows))

  /** Cycles from a row's name to its value: memory, forwarding. */
  val latency: Int = pipe.latency + 1

  /** The same to its new value. */
  private val changedAt: Int = latency + 1

  /**
   * Cycles after a write of software's in which it has to wait: the row is still in the
   * pipeline.
   */
  val writeInterval: Int = changedAt + 1
}
