// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.clear_prefix

import chisel3._
import chisel3.util._
import sallyport.common.link.ClearPrefix
import sallyport.common.queue.MemoryQueue
import sallyport.common.stream.RegisterSlice
import sallyport.crypto.dispatch.{PathJob, PrefixRow}

/** The clear headers of a packet in transport mode. */
class StoredPrefix extends Bundle {

  /** Byte 0 lowest; as many count as `tos` says ([[ClearPrefix]]). */
  val bytes = UInt((8 * ClearPrefix.lengths.max).W)

  /** The fields that give their place to the row's number: [[PrefixRow.apply]]. */
  val fields = UInt(PrefixRow.bits.W)
  def tos: UInt = fields(7, 0)
}

/**
 * Keeps the clear headers of packets in transport mode while the rest of the packet is in
 * the lanes.
 *
 * Packets leave the lanes in another order than they came, so each has a row of its own, whose
 * number goes with it. `write` puts a prefix into the row at `free`, which must be valid. What the
 * row at `next` holds is at `prefix` in the next cycle. `leaves` and `dropped` free a row. An event
 * of each kind a cycle, those of `leaves` two cycles apart. Never stalls: a module that wants a row
 * waits until one is free.
 */
class PrefixStore extends Module {
  val io = IO(new Bundle {
    val free = Valid(UInt(PrefixRow.bits.W))
    val write = Flipped(Valid(new StoredPrefix))
    val leaves = Flipped(Valid(UInt(PrefixRow.bits.W)))
    val next = Input(UInt(PrefixRow.bits.W))
    val prefix = Output(new StoredPrefix)
    val dropped = Flipped(Valid(UInt(PrefixRow.bits.W)))
  })

  private val rows = SyncReadMem(PrefixRow.count, new StoredPrefix)
  when(io.write.valid) { rows.write(io.free.bits, io.write.bits) }
  io.prefix := rows.read(io.next)

  // Rows that were never used come first, then those given back.
  private val used = RegInit(0.U((PrefixRow.bits + 1).W))
  private val allUsed = used(PrefixRow.bits)
  private val dropped = Module(new Queue(UInt(PrefixRow.bits.W), PathJob.waiting))
  dropped.io.enq.valid := io.dropped.valid
  dropped.io.enq.bits := io.dropped.bits
  dropped.io.deq.ready := !io.leaves.valid
  assert(!io.dropped.valid || dropped.io.enq.ready, "more packets dropped than there were jobs")

  private val queue = Module(new MemoryQueue(UInt(PrefixRow.bits.W), PrefixRow.count))
  queue.io.in.valid := RegNext(io.leaves.valid || dropped.io.deq.valid, false.B)
  queue.io.in.bits := RegNext(Mux(io.leaves.valid, io.leaves.bits, dropped.io.deq.bits))
  assert(!queue.io.in.valid || queue.io.in.ready, "more rows than there are come back")
  private val back = queue.io.out
  // A slice between: `write` is the end of a long path.
  private val next = Wire(Decoupled(UInt(PrefixRow.bits.W)))
  next.valid := !allUsed || back.valid
  next.bits := Mux(allUsed, back.bits, used(PrefixRow.bits - 1, 0))
  back.ready := next.ready && allUsed
  when(next.fire && !allUsed) { used := used + 1.U }
  private val free = RegisterSlice(next)
  io.free.valid := free.valid
  io.free.bits := free.bits
  free.ready := io.write.valid
  assert(!io.write.valid || io.free.valid, "a prefix without a row")
}
