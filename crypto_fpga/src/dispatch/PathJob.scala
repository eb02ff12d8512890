// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import sallyport.crypto.lane.LaneJob

/**
 * Where dispatch sends a packet: to a lane, past the lanes, or nowhere (and under which
 * counter).
 */
object Route extends ChiselEnum {
  val lane, bypass, notReady, noKey, wrongMode, bypassDenied, exhausted, oversize, truncated, upset, selfTest = Value
}

/** A packet's fate and everything a lane needs for it. */
class PathJob extends Bundle {
  val route = Route()

  /** Which key table contents the job saw; see [[DecryptFetch]]. */
  val epoch = Bool()
  val lane = new LaneJob
}

object PathJob {

  /**
   * Packets between key fetch and dispatch: they hide the latency of the fetch at a packet every
   * 2 cycles.
   */
  val waiting: Int = 8

  /** A job that holds no key and goes nowhere. */
  def none: PathJob = {
    val job = Wire(new PathJob)
    job := 0.U.asTypeOf(new PathJob)
    job.route := Route.notReady
    job
  }
}
