// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream

/**
 * A [[Lane]] beside its [[LaneModel]], both with the same inputs.
 *
 * Bit i of `differs` is high in the cycles in which port i of [[LanePairs.ports]] does: bits of
 * `out` while `valid` is high.
 */
class LanePairs(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
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
    val differs = Output(UInt(LanePairs.ports.size.W))
  })

  private val (rtl, model) = (Module(new Lane(config)).io, LaneModel(config))
  for (lane <- Seq(rtl, model)) {
    lane.in.valid := io.valid
    lane.in.bits.data := io.data
    lane.in.bits.last := io.last
    lane.in.bits.bytes := io.bytes
    lane.in.bits.error := io.error
    lane.in.bits.meta := io.job.asTypeOf(new LaneJob)
    lane.grant := io.grant.asBools
    lane.out.ready := io.take
    lane.zeroize := io.zeroize
  }
  io.ready := rtl.in.ready
  io.room := rtl.room.asUInt
  io.offer := rtl.offer.asUInt
  io.out := rtl.out.valid
  io.outLast := rtl.out.bits.last
  io.verdict := rtl.out.bits.meta.verdict.asUInt
  io.busy := rtl.busy

  private val (a, b) = (rtl.out.bits, model.out.bits)
  private def beside[T <: Data](of: LanePorts => T): Bool = of(rtl).asUInt =/= of(model).asUInt
  io.differs := VecInit(
    beside(_.in.ready),
    beside(_.room),
    beside(_.offer),
    beside(_.busy),
    beside(_.out.valid),
    rtl.out.valid && Cat(a.last, a.bytes, a.error) =/= Cat(b.last, b.bytes, b.error),
    rtl.out.valid && a.data =/= b.data,
    rtl.out.valid && a.meta.asUInt =/= b.meta.asUInt
  ).asUInt
}

object LanePairs {
  val ports = Seq("in.ready", "room", "offer", "busy", "out.valid", "last, bytes, error", "data", "meta")
  val jobBits: Int = (new LaneJob).getWidth
}
