// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._

/**
 * A [[Lane]] beside its [[LaneModel]], both with the same inputs, which come over a [[LaneWay]].
 *
 * Bit i of `differs` is high in the cycles in which port i of [[LanePairs.ports]] does: bits of
 * `out` while `valid` is high.
 */
class LanePairs(config: LaneConfig) extends Module {
  val io = IO(new LaneDriven {
    val differs = Output(UInt(LanePairs.ports.size.W))
  })

  // The way of the lane drives both.
  private val (rtl, model) = (Module(new Lane(config)).io, LaneModel(config))
  private val way = LaneWay(config, rtl)
  io.drive(way)
  io.watch(way)
  model.in := rtl.in
  model.noBeat := rtl.noBeat
  model.grant := rtl.grant
  model.stop := rtl.stop
  model.zeroize := rtl.zeroize

  private val (a, b) = (rtl.out.bits, model.out.bits)
  private def beside[T <: Data](of: LaneFarPorts => T): Bool = of(rtl).asUInt =/= of(model).asUInt
  io.differs := VecInit(
    beside(_.ready),
    beside(of => of.freed.retired ## of.freed.release.valid) ||
      (rtl.freed.release.valid && beside(_.freed.release.bits)),
    beside(_.done),
    beside(_.busy),
    beside(_.out.valid),
    rtl.out.valid && Cat(a.last, a.bytes, a.error) =/= Cat(b.last, b.bytes, b.error),
    rtl.out.valid && a.data =/= b.data,
    rtl.out.valid && a.meta.asUInt =/= b.meta.asUInt
  ).asUInt
}

object LanePairs {
  val ports = Seq("ready", "freed", "done", "busy", "out.valid", "last, bytes, error", "data", "meta")
  val jobBits: Int = (new LaneJob).getWidth
}
