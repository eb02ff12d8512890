// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.clocks

import chisel3._
import chisel3.util._

/**
 * The resets of the two sides of what crosses two clocks, made of one event, so that neither side
 * runs before the other was reset.
 *
 * `in` is a register of the first clock; a pulse of any length is enough. The reset of the first
 * side then rises in the next cycle, the other 3 to 4 cycles of its own clock later, which is
 * before anything that a queue counts can tell it of the change. Each lasts for
 * [[CrossingReset.ticks]] cycles of its clock or more, and until both sides have been reset. If a
 * clock stands still, its side is reset when it runs again, and until then the other side waits in
 * reset. So no pointer of before the event is ever compared with one of after it.
 *
 * Logic may look at these resets as it does at any register of their clock: they do not move
 * between two edges. Only `starts`, the chip's reset as the [[ResetSynchronizer]] of each clock has
 * it, has both rise at once, without a clock.
 *
 * Each signal goes to another clock through one synchroniser there and no logic, as report_cdc has
 * it (CDC-11, CDC-12).
 *
 * @param asks whether there is an `in`
 */
class CrossingReset(asks: Boolean) extends RawModule {
  override def desiredName = "CrossingReset"

  val clocks = IO(Input(Vec(2, Clock())))
  val starts = IO(Input(Vec(2, Bool())))
  val in = Option.when(asks)(IO(Input(Bool())))
  val resets = IO(Output(Vec(2, Bool())))

  // Set without a clock, so that a slow side misses nothing; low once its side has been in reset
  // for long enough.
  private val lasting = Seq.tabulate(2) { side =>
    val asked = in.map(ResetSynchronizer(clocks(side), _)).fold(starts(side))(starts(side) || _)
    withClockAndReset(clocks(side), asked.asAsyncReset) {
      ShiftRegister(false.B, CrossingReset.ticks, true.B, true.B)
    }
  }
  for (side <- 0 until 2) {
    withClockAndReset(clocks(side), starts(side).asAsyncReset) {
      val seen = lasting.map(BitSynchronizer(_)).reduce(_ || _)
      // What the first side has asked for, until it is seen.
      val asking = in.filter(_ => side == 0).fold(false.B)(Seq.iterate(_, 4)(RegNext(_, true.B)).reduce(_ || _))
      resets(side) := RegNext(seen || asking, true.B)
    }
  }
}

object CrossingReset {

  /**
   * Cycles of its clock for which a side is in reset at least: more than a word is on its way
   * through an [[SlrPipe]] and back.
   */
  val ticks: Int = SlrPipe.spare + 2

  /** The sides of two clocks with their resets; the first may ask. */
  def apply(first: Clock, second: Clock, starts: (Bool, Bool), in: Option[Bool]): (ClockSide, ClockSide) = {
    val crossing = Module(new CrossingReset(in.isDefined))
    crossing.clocks := VecInit(first, second)
    crossing.starts := VecInit(starts._1, starts._2)
    for ((to, from) <- crossing.in.zip(in)) to := from
    (side(first, crossing.resets(0)), side(second, crossing.resets(1)))
  }

  private def side(clock: Clock, reset: Bool): ClockSide = {
    val side = Wire(new ClockSide)
    side.clock := clock
    side.reset := reset
    side
  }
}
