// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/**
 * Joins packet streams ([[PacketJoin]]): the first input that has a packet goes first. An input
 * waits as long as those in front of it have packets; behind their last one it waits a cycle more.
 */
class PacketPriority[M <: Data](meta: M, inputs: Int, registered: Boolean = true)
    extends PacketJoin(meta, inputs, registered) {
  protected def next(granted: UInt, waiting: UInt): UInt = PriorityEncoderOH(waiting)
  protected def relieves(next: UInt, granted: UInt): Bool = next < granted
}
