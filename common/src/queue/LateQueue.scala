// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._

/**
 * A queue whose source hears late that it has to stop: from the cycle on in which `stop` is high,
 * `late` transfers may still come.
 *
 * One transfer a cycle, latency 1 cycle when empty. `stop` and `out` are registers. Never drops.
 * `out` has no gap behind a stop if the source is back within `entries` - `late` - 2 cycles.
 */
class LateQueue[T <: Data](gen: T, entries: Int, late: Int) extends Module {
  require(late + 2 <= entries, s"LateQueue of $entries entries: $late come late, so make it ${late + 2} or more")

  val io = IO(new Bundle {
    val in = Flipped(Valid(gen))
    val stop = Output(Bool())
    val out = Decoupled(gen)
  })

  private val queue = Module(new Queue(gen, entries, flow = true))
  queue.io.enq.valid := io.in.valid
  queue.io.enq.bits := io.in.bits
  assert(!io.in.valid || queue.io.enq.ready, "more came than may come late")

  private val count = RegInit(0.U(log2Ceil(entries + 1).W))
  count := count + io.in.valid - queue.io.deq.fire
  // Transfers of this cycle and the next are not counted yet.
  io.stop := RegNext(count > (entries - late - 2).U, false.B)

  private val valid = RegInit(false.B)
  private val bits = Reg(gen)
  queue.io.deq.ready := !valid || io.out.ready
  when(queue.io.deq.ready) {
    valid := queue.io.deq.valid
    bits := queue.io.deq.bits
  }
  io.out.valid := valid
  io.out.bits := bits
}
