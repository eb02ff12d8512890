// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import sallyport.common.stream.PacketBeat

/**
 * A queue of packet beats, cut-through: a beat leaves as soon as it can, whether its packet is
 * complete or not.
 *
 * Contract of [[MemoryQueue]]: one beat a cycle, latency 1 cycle when empty and 3 when not,
 * registered both ways, never drops. For a queue of whole packets see [[FrameFifo]]; for one of two
 * beats see [[RegisterSlice]].
 */
class PacketQueue[M <: Data](meta: M, beats: Int) extends MemoryQueue(new PacketBeat(meta), beats)
