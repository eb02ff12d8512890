// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

import chisel3._
import sallyport.common.link.LinkMeta
import sallyport.common.stream.PacketStream
import sallyport.crypto.lane.{Lane, LaneConfig, LaneDriven, LaneJob, LaneWay}

/** A [[Lane]] whose ports are all there as numbers, to be instrumented. */
class TaintedLane(config: LaneConfig) extends Module {
  val io = IO(new LaneDriven {
    val outBytes = Output(UInt(7.W))
    val outError = Output(Bool())
    val outData = Output(UInt(PacketStream.dataBits.W))
    val outMeta = Output(UInt((new LinkMeta).getWidth.W))
  })

  private val lane = LaneWay(config, Module(new Lane(config)).io)
  io.drive(lane)
  io.watch(lane)
  io.outBytes := lane.out.bits.bytes
  io.outError := lane.out.bits.error
  io.outData := lane.out.bits.data
  io.outMeta := lane.out.bits.meta.meta.asUInt
}

object TaintedLane {
  private val secretFields = Set("key", "auth", "salt")

  /** The bits of a [[LaneJob]] that are keys, as one number. */
  def secrets: BigInt = {
    // The last field of a bundle has the lowest bits.
    val fields = (new LaneJob).elements.toSeq
    val ends = fields.scanLeft(0)(_ + _._2.getWidth)
    fields
      .zip(ends)
      .collect { case ((name, field), at) if secretFields(name) => ((BigInt(1) << field.getWidth) - 1) << at }
      .reduce(_ | _)
  }
}
