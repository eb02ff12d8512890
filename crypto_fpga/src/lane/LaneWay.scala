// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.crossing.SlrStage
import sallyport.common.queue.LateQueue
import sallyport.common.stream.PacketBeat
import sallyport.crypto.suite.Suite

/**
 * The way between a lane, which may be in another SLR, and its dispatch and merge: registers alone
 * ([[SlrStage]]) both ways, and here at the near end what makes up for their latency.
 *
 * It counts the room of the lane, since the lane would tell too late, keeps finished packets in
 * mind until they are granted, and holds beats that come out of the lane after the merge has
 * stopped. Adds [[SlrStage.stages]] cycles to each signal, and a reset has to last longer than
 * that. No key stays in it: its registers hold what came in last, and dispatch erases that.
 */
class LaneWay(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val near = new LanePorts
    val far = Flipped(new LaneFarPorts)
  })
  private val (near, far) = (io.near, io.far)

  private val sent = Wire(chiselTypeOf(far.in))
  sent.valid := near.in.fire
  sent.bits := near.in.bits
  far.in := SlrStage.way(sent)
  far.noBeat := SlrStage.way(!near.in.fire)

  // Not in the two cycles behind the beginning of a slow packet, whose successor has no slot yet. A
  // register: long paths begin with it.
  private val inside = RegInit(false.B)
  private val insideNext = Mux(near.in.fire, !near.in.bits.last, inside)
  inside := insideNext
  private val isFast = Suite.is(near.in.bits.meta.suite)(_.fast)
  private val slowBegins = near.in.fire && !inside && !isFast
  private val early = slowBegins || RegNext(slowBegins, false.B)
  near.in.ready := RegNext(SlrStage.way(far.ready) && (insideNext || !early), false.B)

  // Room, by class.
  private val freed = SlrStage.way(far.freed)
  for (fast <- Seq(false, true)) {
    val use = new LaneUse(config, fast)
    use.follow(near.in.fire && isFast === fast.B, !inside, near.in.bits.last, freed)
    near.room(if (fast) 1 else 0) := RegNext(use.room, false.B)
  }

  // Packets that are finished and not granted before the last cycle: a grant ends a long path, and
  // an offer begins it. There is none without a packet in the lane, even after a bit has flipped.
  far.grant := SlrStage.way(near.grant)
  for (((offer, done), grant) <- near.offer.zip(SlrStage.way(far.done)).zip(near.grant)) {
    val granted = RegNext(grant, false.B)
    val waiting = RegInit(0.U(log2Ceil(config.slots + 1).W))
    val next = Mux(RegNext(near.busy, false.B), waiting + done - granted, 0.U)
    waiting := next
    val (some, several) = (RegNext(next =/= 0.U, false.B), RegNext(next > 1.U, false.B))
    offer := done || Mux(granted, several, some)
    assert(!grant || offer, "a packet is granted that is not finished")
  }

  private val out = Module(new LateQueue(new PacketBeat(new LaneResult), LaneWay.entries, LaneFarPorts.late))
  out.io.in := SlrStage.way(far.out)
  far.stop := SlrStage.way(out.io.stop)
  near.out <> out.io.out

  // A beat on its way is seen at neither end.
  private val onWay = RegInit(0.U(log2Ceil(LaneWay.round + 1).W))
  when(near.in.fire) { onWay := LaneWay.round.U }.elsewhen(onWay =/= 0.U) { onWay := onWay - 1.U }
  private val lateBusy = SlrStage.way(far.busy)
  far.zeroize := SlrStage.way(near.zeroize)
  near.busy := lateBusy || RegNext(lateBusy, false.B) || onWay =/= 0.U
}

object LaneWay {

  /** Beats that wait for the merge: as many as LUT RAM of one depth holds. */
  private val entries = 32

  /** Cycles from a beat at the near end until the lane's `busy` is back there. */
  private val round = 2 * SlrStage.stages + 2

  /** The near end of a way to a lane. */
  def apply(config: LaneConfig, lane: LaneFarPorts): LanePorts = {
    val way = Module(new LaneWay(config))
    way.io.far <> lane
    way.io.near
  }
}
