// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.clocks

import chisel3._

/**
 * Events of one clock as pulses of another: for each cycle of `from` with `in` one cycle of `to`
 * with `out`, about eight cycles later.
 *
 * A counter crosses and is counted after, so none is lost as long as no more than 15 wait. Of
 * events that keep coming faster than `to` ticks, some are lost. Both sides are reset together
 * ([[CrossingReset]]).
 */
class EventCrossing extends RawModule {
  override def desiredName = "EventCrossing"

  val from = IO(Input(new ClockSide))
  val to = IO(Input(new ClockSide))
  val in = IO(Input(Bool()))
  val out = IO(Output(Bool()))

  private val happened = withClockAndReset(from.clock, from.reset)(RegInit(0.U(4.W)))
  when(in) { happened := happened + 1.U }
  private val seen = GrayCrossing(from, to, happened)

  withClockAndReset(to.clock, to.reset) {
    val told = RegInit(0.U(4.W))
    val more = seen =/= told
    when(more) { told := told + 1.U }
    out := RegNext(more, false.B)
  }
}

object EventCrossing {

  /** The events `in` of `from` as `to` sees them. */
  def apply(from: ClockSide, to: ClockSide, in: Bool): Bool = {
    val crossing = Module(new EventCrossing)
    crossing.from := from
    crossing.to := to
    crossing.in := in
    crossing.out
  }
}
