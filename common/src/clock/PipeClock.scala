// SPDX-License-Identifier: Apache-2.0
package sallyport.common.clock

import chisel3._

/**
 * The clock of a feed-forward pipe, which stops in simulation while the pipe is empty
 * ([[ClockGate]]).
 */
object PipeClock {

  /**
   * Drives `running`, the clock of a pipe in this module, from `clock`, that of the module.
   *
   * @param in
   *   something enters
   * @param awake keeps the clock alive even if the pipe is empty @return what entered 1 to
   *   `latency` cycles ago: the last is the valid bit of the result
   */
  def drive(running: Clock, clock: Clock, in: Bool, awake: Bool, latency: Int): Seq[Bool] = {
    val valids = Wire(Vec(latency, Bool()))
    running := ClockGate(clock, in || awake || Module.reset.asBool || valids.asUInt.orR)
    withClock(running) {
      valids.zip(in +: valids.init).foreach { case (now, before) => now := RegNext(before, false.B) }
    }
    valids
  }

  /** Elaborates `body` on such a clock; it gets these bits. */
  def apply(in: Bool, awake: Bool, latency: Int)(body: Seq[Bool] => Unit): Unit = {
    val running = Wire(Clock())
    val valids = drive(running, Module.clock, in, awake, latency)
    withClock(running)(body(valids))
  }
}
