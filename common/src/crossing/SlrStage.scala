// SPDX-License-Identifier: Apache-2.0
package sallyport.common.crossing

import chisel3._

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
