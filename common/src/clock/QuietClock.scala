// SPDX-License-Identifier: Apache-2.0
package sallyport.common.clock

import chisel3._
import chisel3.util._

/**
 * The clock of a part that comes to rest by itself, which stops in simulation while nothing stirs
 * in it ([[ClockGate]]).
 */
object QuietClock {

  /**
   * The clock of here, alive while `stirs` is high and for `cycles`, a power of two, after that.
   *
   * @param stirs something comes, leaves or is held; within `cycles` of the last time nothing more
   *   happens inside by itself. What makes it rise must not stand on this clock
   */
  def apply(stirs: Bool, cycles: Int): Clock = {
    require(isPow2(cycles), s"quiet for $cycles cycles: make it a power of two")
    val quietFor = RegInit(0.U((log2Ceil(cycles) + 1).W))
    val quiet = quietFor.head(1).asBool
    quietFor := Mux(stirs, 0.U, Mux(quiet, quietFor, quietFor + 1.U))
    ClockGate(Module.clock, stirs || !quiet || Module.reset.asBool)
  }

  /** `module` on such a clock of its own; `stirs` says it of its ports. */
  def around[M <: Module](module: => M, cycles: Int)(stirs: M => Bool): M = {
    val running = Wire(Clock())
    val inside = withClock(running)(Module(module))
    running := apply(stirs(inside), cycles)
    inside
  }
}
