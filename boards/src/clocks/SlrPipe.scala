// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.clocks

import chisel3._
import chisel3.util._

/**
 * One stage of registers on the way between two SLRs: flip-flops alone, without reset, enable or
 * initial value, as those at the border of an SLR have to be (boards/xdc.py finds them by the name
 * of this module; UG949 asks for three stages above 250 MHz).
 */
class SlrStage[T <: Data](gen: T) extends Module {
  override def desiredName = "SlrStage"

  val io = IO(new Bundle {
    val in = Input(gen)
    val out = Output(gen)
  })
  io.out := RegNext(io.in)
}

object SlrStage {

  /** Stages of a way between two SLRs. */
  val stages: Int = 3

  /** `in` after a way of `stages` cycles. */
  def way[T <: Data](in: T): T = (0 until stages).foldLeft(in) { (from, _) =>
    val stage = Module(new SlrStage(chiselTypeOf(in)))
    stage.io.in := from
    stage.io.out
  }
}

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
