// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/**
 * Joins packet streams round robin ([[PacketJoin]]): no input waits for more than one packet of
 * each other input.
 */
class PacketArbiter[M <: Data](meta: M, inputs: Int) extends PacketJoin(meta, inputs) {

  /** The others in the order in which they come after the granted one. */
  protected def next(granted: UInt, waiting: UInt): UInt = {
    val after = (~((granted - 1.U) | granted)).asUInt & waiting
    Mux(after.orR, PriorityEncoderOH(after), PriorityEncoderOH(waiting))
  }
  protected def relieves(next: UInt, granted: UInt): Bool = true.B
}
