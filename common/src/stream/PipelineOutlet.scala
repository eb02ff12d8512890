// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/**
 * Gives a feed-forward pipeline a `Decoupled` output, and its entry a `ready` that comes
 * from registers.
 *
 * The pipeline itself never stalls: its entry takes a transfer only while `ready`, which reserves a
 * place here. A transfer that yields nothing gives its place back with `cancel`. Latency 1 cycle
 * when empty; one transfer a cycle if `entries` is at least the pipeline's latency plus 3.
 * Never drops.
 */
class PipelineOutlet[T <: Data](gen: T, entries: Int) extends Module {
  val io = IO(new Bundle {

    /** The pipeline's entry may take a transfer. */
    val ready = Output(Bool())

    /** The entry takes a transfer in this cycle. */
    val take = Input(Bool())

    /** A transfer taken earlier will yield nothing. */
    val cancel = Input(Bool())

    /** The end of the pipeline. */
    val in = Flipped(Valid(gen))
    val out = Decoupled(gen)

    /** No packet is on its way from the entry to `out`. */
    val empty = Output(Bool())

    /** Places that no transfer has reserved, those of the last cycle included. */
    val places = Output(UInt(log2Ceil(entries + 1).W))
  })

  private val queue = Module(new Queue(gen, entries, flow = true))
  private val valid = RegInit(false.B)
  private val bits = Reg(gen)
  // Free places, and one less than a power of two: the highest bit is 1 while there is one, and
  // needs no comparison.
  private val freeBits = log2Ceil(entries + 1)
  private val free = RegInit((entries + (1 << freeBits) - 1).U((freeBits + 1).W))

  free := free - io.take + io.cancel + queue.io.deq.fire
  io.ready := free(freeBits)
  io.places := free(freeBits - 1, 0) + 1.U
  io.empty := free === (entries + (1 << freeBits) - 1).U
  queue.io.enq.valid := io.in.valid
  queue.io.enq.bits := io.in.bits
  queue.io.deq.ready := !valid || io.out.ready
  when(queue.io.deq.ready) {
    valid := queue.io.deq.valid
    bits := queue.io.deq.bits
  }
  io.out.valid := valid
  io.out.bits := bits
  assert(!io.take || io.ready)
  assert(!io.in.valid || queue.io.enq.ready)
}
