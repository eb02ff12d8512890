// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.crossing.SlrStage
import sallyport.common.stream.PacketBeat

/** Room that packets have given back. */
class LaneFreed extends Bundle {

  /** A packet has left its buffers: its beats, and the slot of a fast one. */
  val release = Valid(new LaneRelease)

  /** A slow packet has left its slot: [[LaneRetire]]. */
  val retired = Bool()
}

/**
 * Ports of a [[Lane]] itself, at the far end of its [[LaneWay]]. Nothing here waits for an answer
 * in its cycle, so that any number of registers may stand between the lane and its way's near end.
 *
 * Index 0 is of slow packets, 1 of fast ones ([[sallyport.crypto.suite.Suite.fast]]).
 */
class LaneFarPorts extends Bundle {

  /**
   * A beat is always taken. A packet begins only where its sender knows of room for all of it, and
   * a slow one not in the two cycles behind the beginning of another.
   */
  val in = Flipped(Valid(new PacketBeat(new LaneJob)))

  /**
   * The inverse of `in.valid`. A beat is one only if both say so: the last one still stands at
   * `in`, and a flipped bit would have it encrypted again under the same number.
   */
  val noBeat = Input(Bool())

  /** While it is low, no more than [[LaneFarPorts.late]] beats come. */
  val ready = Output(Bool())
  val freed = Output(new LaneFreed)

  /** Pulses: one more packet, the next in order of its class, is finished. */
  val done = Output(Vec(2, Bool()))

  /** Lets the oldest packet of the class out that is `done`, at once or later. */
  val grant = Input(Vec(2, Bool()))
  val out = Valid(new PacketBeat(new LaneResult))

  /** While it is high, no more than [[LaneFarPorts.late]] beats leave. */
  val stop = Input(Bool())
  val zeroize = Input(Bool())

  /** A packet is in the lane, or keys are being wiped. */
  val busy = Output(Bool())
}

object LaneFarPorts {

  /** Cycles from the lane to the other end of its way and back, and of registers at the ends. */
  val late: Int = 2 * SlrStage.stages + 4
}
