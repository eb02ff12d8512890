// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.experimental.{noPrefix, prefix}
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.queue.PacketQueue
import sallyport.common.stream.{NoMeta, PacketStream}
import sallyport.crypto.lane.{LaneConfig, LanePorts}
import sallyport.crypto.selftest.{LaneGuard, SelfTest, SelfTestConfig, SelfTestState, TestEntry}

/**
 * The lanes of one direction between their dispatch and their merge.
 *
 * Packets of a class leave on `out` in the order in which they came ([[OrderArbiter]]), less those
 * that are dropped: by dispatch (`drop`) or with a bad verdict (`merged`). For every packet that
 * comes in exactly one of the two pulses. A bypassed packet keeps its place among the fast ones.
 *
 * A beat a cycle and a packet every 2 cycles each way; lanes add their own 16 bytes a cycle each.
 * No deadlock: the merge waits only for the packet that was granted first, which is finished (or in
 * the bypass) and on its way, and dispatch waits only for room in front of it.
 *
 * With a [[SelfTest]], packets whose lane fails come out as `merged` with the verdict `laneFailed`.
 * When all have failed, all packets are dropped with the route `selfTest`.
 *
 * @param lane
 *   makes a lane and gives its ports
 * @param test
 *   of the lanes; none where other things stand in for lanes
 */
class LaneFarm(
    config: LaneConfig,
    lanes: Int,
    jobs: Int,
    lane: LaneConfig => LanePorts,
    test: Option[SelfTestConfig] = None
) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new NoMeta))
    val job = Flipped(Decoupled(new PathJob))
    val jobTaken = Output(Bool())
    val out = PacketStream(new LinkMeta)
    val drop = Valid(new DropEvent)
    val merged = Valid(new MergeEvent)
    val row = Output(UInt(PrefixRow.bits.W))
    val hold = Input(Bool())
    val blocked = Input(Bool())
    val zeroize = Input(Bool())
    val runTest = Input(Bool())
    val test = Output(new SelfTestState(lanes))
  })

  private val dispatcher = Module(new Dispatcher(lanes, jobs))
  dispatcher.io.in <> io.in
  dispatcher.io.job <> io.job
  dispatcher.io.blocked := io.blocked
  io.jobTaken := dispatcher.io.jobTaken
  io.drop := dispatcher.io.drop

  private val merge = Module(new Merge(lanes))
  private val order = Module(new OrderArbiter(lanes, LaneFarm.packetsOf(config, lanes)))
  private val tests = test.map(parameters => Module(new SelfTest(config, lanes, parameters)))
  private val failed = tests.fold(0.U(lanes.W))(tests => VecInit(tests.io.order.map(_.failed)).asUInt)
  dispatcher.io.failed := failed
  order.io.failed := failed
  for (index <- 0 until lanes) {
    // Boards place a lane by its name.
    val made = noPrefix(prefix(s"lane_$index")(lane(config)))
    val ports = tests.fold(made) { tests =>
      val guard = Module(new LaneGuard(test.get.hangCycles, config.packets))
      guard.io.lane <> made
      guard.io.order := tests.io.order(index)
      tests.io.view(index) := guard.io.view
      guard.io.traffic
    }
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
  io.row := merge.io.row

  private val entry = Wire(new TestEntry(lanes))
  dispatcher.io.test <> entry
  tests match {
    case Some(tests) =>
      tests.io.run := io.runTest
      tests.io.blocked := io.blocked
      entry <> tests.io.entry
      io.test := tests.io.state
    case None =>
      entry.request := false.B
      entry.beat.valid := false.B
      entry.beat.bits := DontCare
      entry.lane := 0.U
      io.test.failed := 0.U
      io.test.running := false.B
      io.test.started := true.B
  }
  dispatcher.io.closed := RegNext(io.test.failed.andR, false.B)
}

object LaneFarm {
  val bypassBeats: Int = 256

  /** Packets in the bypass queue at most, a beat each, and in the registers about it. */
  private val bypassPackets: Int = bypassBeats + 8

  private def packetsOf(config: LaneConfig, lanes: Int)(fast: Boolean): Int =
    lanes * config.packets(fast) + (if (fast) bypassPackets else 0)

  /** Packets between dispatch and merge at most: those granted may have given back their room. */
  def packets(config: LaneConfig, lanes: Int): Int =
    Seq(false, true).map(packetsOf(config, lanes)).sum + LanePorts.grants + 1
}
