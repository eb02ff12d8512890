// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import chisel3._
import chisel3.experimental.hierarchy.Instantiate
import sallyport.crypto.lane.{Lane, LaneConfig, LanePorts, LaneWay, Verdict}

/** What can be wrong with a [[FaultyLane]]. */
object Fault extends Enumeration {
  val none, key, auth, text, verdict, mute, deaf, mean = Value

  /** TOS of a packet that plants a fault in the lane that it enters. */
  def tos(fault: Value): Int = 0xe0 + fault.id
}

/**
 * A lane in which a packet of a certain TOS plants a fault: a bit of the cipher's or of the hash's
 * key is stuck at the wrong value, a bit of the second beat that leaves is, every verdict is `ok`,
 * no packet is offered, no beat is taken, or no packet that is granted comes. `zeroize` mends it.
 */
class FaultyLane(config: LaneConfig) extends Module {
  val io = IO(new LanePorts)
  private val lane = LaneWay(config, Instantiate(new Lane(config)).io)
  io <> lane

  private val fault = RegInit(0.U(4.W))
  private val tos = io.in.bits.meta.meta.tos
  when(io.in.fire && tos(7, 4) === 0xe.U) { fault := tos(3, 0) }
  when(io.zeroize) { fault := 0.U }
  private def has(value: Fault.Value): Bool = fault === value.id.U

  when(has(Fault.key)) { lane.in.bits.meta.key := io.in.bits.meta.key ^ (1.U << 77) }
  when(has(Fault.auth)) { lane.in.bits.meta.auth := io.in.bits.meta.auth ^ (1.U << 131) }
  private val second = RegInit(false.B)
  when(io.out.fire) { second := !io.out.bits.last }
  when(has(Fault.text) && second) { io.out.bits.data := lane.out.bits.data ^ (1.U << 90) }
  when(has(Fault.verdict)) {
    io.out.bits.meta.verdict := Verdict.ok
    io.out.bits.error := false.B
  }
  when(has(Fault.mute)) { io.offer.foreach(_ := false.B) }
  when(has(Fault.mean)) { lane.grant.foreach(_ := false.B) }
  when(has(Fault.deaf)) {
    io.in.ready := false.B
    lane.in.valid := false.B
  }
}
