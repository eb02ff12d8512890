// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._

/**
 * Slots and beats of one class of a lane that are taken. Registers, a cycle late.
 *
 * @param fast
 *   the class; see [[sallyport.crypto.suite.Suite.fast]]
 */
class LaneUse(config: LaneConfig, fast: Boolean) {
  private val slots = config.slotRings.places(fast)
  private val beats = config.beatRings.places(fast)
  val usedSlots = RegInit(0.U(log2Ceil(config.slots + 1).W))
  val usedBeats = RegInit(0.U(log2Ceil(config.bufferBeats + 1).W))

  /**
   * A beat of the class comes in (`take`), which may be its packet's first or last one. From red to
   * black a packet grows by 41 bytes at most before its ICV, so it takes one more beat.
   */
  def follow(take: Bool, first: Bool, last: Bool, freed: LaneFreed): Unit = {
    val grown = if (config.encrypt) Mux(last, 2.U, 1.U) else 1.U
    val released = freed.release.valid && freed.release.bits.fast === fast.B
    usedSlots := usedSlots + (take && first) - (if (fast) released else freed.retired)
    usedBeats := usedBeats + Mux(take, grown, 0.U) - Mux(released, freed.release.bits.beats, 0.U)
    assert(usedSlots <= slots.U)
    assert(usedBeats <= beats.U)
  }

  /**
   * There is room for a packet more, even if one has begun in the cycle before, and beats of its
   * predecessor have come in the last three.
   */
  def room: Bool =
    if (slots == 0) false.B
    else usedSlots <= (slots - 2).U && usedBeats <= (beats - LaneFrame.most - 8).U
}
