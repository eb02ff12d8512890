// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import sallyport.common.stream.PacketStream

/** Ports of a lane as numbers, which `lane_traffic.h` drives. */
class LaneDriven extends Bundle {
  val valid = Input(Bool())
  val data = Input(UInt(PacketStream.dataBits.W))
  val last = Input(Bool())
  val bytes = Input(UInt(7.W))
  val error = Input(Bool())
  val job = Input(UInt(LanePairs.jobBits.W))
  val grant = Input(UInt(2.W))
  val take = Input(Bool())
  val zeroize = Input(Bool())

  val ready = Output(Bool())
  val room = Output(UInt(2.W))
  val offer = Output(UInt(2.W))
  val out = Output(Bool())
  val outLast = Output(Bool())
  val verdict = Output(UInt(Verdict.getWidth.W))
  val busy = Output(Bool())

  /** Connects the inputs of a lane. */
  def drive(lane: LanePorts): Unit = {
    lane.in.valid := valid
    lane.in.bits.data := data
    lane.in.bits.last := last
    lane.in.bits.bytes := bytes
    lane.in.bits.error := error
    lane.in.bits.meta := job.asTypeOf(new LaneJob)
    lane.grant := grant.asBools
    lane.out.ready := take
    lane.zeroize := zeroize
  }

  /** Shows the outputs of a lane. */
  def watch(lane: LanePorts): Unit = {
    ready := lane.in.ready
    room := lane.room.asUInt
    offer := lane.offer.asUInt
    out := lane.out.valid
    outLast := lane.out.bits.last
    verdict := lane.out.bits.meta.verdict.asUInt
    busy := lane.busy
  }
}
