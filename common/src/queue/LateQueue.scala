// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._
import sallyport.common.stream.PipelineOutlet

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

  private val outlet = Module(new PipelineOutlet(gen, entries))
  outlet.io.take := io.in.valid
  outlet.io.cancel := false.B
  outlet.io.in := io.in
  io.out <> outlet.io.out
  // Transfers of this cycle and the next have reserved no place yet.
  io.stop := RegNext(outlet.io.places < (late + 2).U, false.B)
}
