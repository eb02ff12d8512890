// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.clocks

import chisel3._
import chisel3.util._
import sallyport.common.crossing.SlrStage

/**
 * Carries a stream between two SLRs to an [[AsyncFifo]]: words one way, the queue's `room`
 * the other.
 *
 * `in.ready` is `room` as it was [[SlrStage.stages]] cycles ago, and a word comes out as many
 * cycles after it came in. So up to [[SlrPipe.spare]] words come after `room` has fallen. All find
 * a place if the queue has that many to spare. One word a cycle, none lost. There is no reset:
 * while both ends are in reset, for twice the stages or longer, words under way are lost.
 */
class SlrPipe[T <: Data](gen: T) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Decoupled(gen))
    val out = Valid(gen)
    val room = Input(Bool())
  })

  io.in.ready := SlrStage.way(io.room)
  private val sent = Wire(Valid(gen))
  sent.valid := io.in.fire
  sent.bits := io.in.bits
  io.out := SlrStage.way(sent)
}

object SlrPipe {

  /** Words that come after `room` has fallen. */
  val spare: Int = 2 * SlrStage.stages
}
