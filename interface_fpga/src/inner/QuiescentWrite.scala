// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import sallyport.common.table.TablePort

/**
 * Lets software's writes to a table pass only while no look-up is under way.
 *
 * For a table whose state look-ups change later in their pipeline (anti-replay): a write raises
 * `hold` and waits until `idle` says that every look-up has ended. `hold` falls when the table has
 * answered, or the write is withdrawn. Reads pass at once, or, with `reads`, wait as well. Costs
 * traffic the length of the pipeline an access.
 */
class QuiescentWrite(reads: Boolean = false) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(new TablePort)
    val out = new TablePort

    /** The user may take it a cycle later. */
    val hold = Output(Bool())
    val idle = Input(Bool())
  })

  private val held = RegInit(false.B)
  // A packet may start until the cycle after `hold` has risen; `idle` shows it one cycle later.
  private val before = RegNext(held, false.B)
  private val settled = before && RegNext(before, false.B)
  private val waits = io.in.request.bits.write || reads.B
  private val pass = !waits || (settled && io.idle)
  private val answering = RegInit(false.B)
  when(io.in.request.fire && waits)(answering := true.B)
  when(io.out.response.valid)(answering := false.B)
  held := io.in.request.valid && waits || answering && !io.out.response.valid

  io.hold := held
  io.out.request.valid := io.in.request.valid && pass
  io.out.request.bits := io.in.request.bits
  io.in.request.ready := io.out.request.ready && pass
  io.in.response := io.out.response
}
