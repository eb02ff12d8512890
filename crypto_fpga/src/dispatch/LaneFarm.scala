// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.queue.PacketQueue
import sallyport.common.stream.{NoMeta, PacketStream}
import sallyport.crypto.lane.{LaneConfig, LanePorts}

/**
 * The lanes of one direction between their dispatch and their merge.
 *
 * Packets of a class leave on `out` in the order in which they came ([[OrderArbiter]]), less those
 * that are dropped: by dispatch (`drop`) or with a bad verdict (`merged`). For every packet that
 * comes in exactly one of the two pulses. A bypassed packet keeps its place among the fast ones.
 *
 * A beat a cycle and a packet every 2 cycles each way; lanes add their own 16 bytes a cycle each.
 * No deadlock: the merge waits only for the packet that was granted first, which is finished (or in
 * the bypass), and dispatch waits only for room in front of it.
 *
 * @param lane
 *   makes a lane and gives its ports
 */
class LaneFarm(config: LaneConfig, lanes: Int, jobs: Int, lane: LaneConfig => LanePorts) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new NoMeta))
    val job = Flipped(Decoupled(new PathJob))
    val jobTaken = Output(Bool())
    val out = PacketStream(new LinkMeta)
    val drop = Valid(new DropEvent)
    val merged = Valid(new MergeEvent)
    val hold = Input(Bool())
    val blocked = Input(Bool())
    val zeroize = Input(Bool())
  })

  private val dispatcher = Module(new Dispatcher(lanes, jobs))
  dispatcher.io.in <> io.in
  dispatcher.io.job <> io.job
  dispatcher.io.blocked := io.blocked
  io.jobTaken := dispatcher.io.jobTaken
  io.drop := dispatcher.io.drop

  private val merge = Module(new Merge(lanes))
  private val order = Module(new OrderArbiter(lanes, LaneFarm.packets(config, lanes)))
  for (index <- 0 until lanes) {
    val ports = lane(config)
    ports.in <> dispatcher.io.lane(index)
    dispatcher.io.room(index) := ports.room
    order.io.offer(index) := ports.offer
    ports.grant := order.io.grant(index)
    ports.zeroize := io.zeroize
    merge.io.lane(index) <> ports.out
  }

  // One 9600-byte packet and some, so that a bypassed packet in front of the merge does not hold
  // up dispatch.
  private val bypass = Module(new PacketQueue(new LinkMeta, LaneFarm.bypassBeats))
  bypass.io.in <> dispatcher.io.bypass
  merge.io.bypass <> bypass.io.out

  order.io.in := dispatcher.io.order
  merge.io.order <> order.io.out
  merge.io.hold := io.hold
  io.out <> merge.io.out
  io.merged := merge.io.event
}

object LaneFarm {
  val bypassBeats: Int = 256

  /** Packets in the bypass queue at most, a beat each, and in the registers about it. */
  private val bypassPackets: Int = bypassBeats + 8

  /** Packets between dispatch and merge at most. */
  def packets(config: LaneConfig, lanes: Int): Int = lanes * config.slots + bypassPackets
}
