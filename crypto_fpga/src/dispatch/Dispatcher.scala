// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.queue.LutQueue
import sallyport.common.stream.{NoMeta, PacketBeat, PacketStream}
import sallyport.crypto.lane.LaneJob
import sallyport.crypto.selftest.TestEntry

/** A packet that dispatch dropped. */
class DropEvent extends Bundle {
  val route = Route()
  val epoch = Bool()

  /** Its row of the [[PrefixStore]], if it has one. */
  val prefix = Valid(UInt(PrefixRow.bits.W))
}

/**
 * Joins each packet with its job, and sends it to the lane with the least work, past the lanes,
 * or nowhere.
 *
 * Jobs come on `job` in the order of the packets on `in`; a job may come after its packet has
 * begun, never later than the packet can wait. Sustains a beat a cycle and a packet every 2 cycles.
 * Latency 2 cycles. For each packet that enters a lane or the bypass one `order` entry leaves, in
 * the order of arrival. Everything else is dropped here, one pulse of `drop` a packet with its
 * reason. Stalls while no lane has room for the packet's class ([[Suite.fast]]), and while the
 * bypass queue that a packet has begun to enter is full: the lanes' own packets go on meanwhile, so
 * this ends as long as the merge goes on.
 *
 * `blocked`: the keys are being zeroized, or the chip is not ready. From the next cycle on no
 * packet begins to enter a lane or the bypass (`drop` says `notReady`); one that has begun is
 * finished. A packet whose first beat waits for a lane is withdrawn, which is the one exception to
 * the rule at [[sallyport.common.stream.PacketBeat]]; a lane's `zeroize` is high by then.
 *
 * `closed`: the same while no lane is in service, but `drop` says `selfTest`, of bypassed packets
 * too. A packet of the self-test comes by `test`, and enters its lane between two packets of the
 * traffic, `closed` or not; it has no `order`.
 */
class Dispatcher(lanes: Int, jobs: Int = 8) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new NoMeta))
    val job = Flipped(Decoupled(new PathJob))

    /** A job has left the queue of `jobs` entries. */
    val jobTaken = Output(Bool())
    val blocked = Input(Bool())
    val closed = Input(Bool())
    val test = Flipped(new TestEntry(lanes))
    val lane = Vec(lanes, PacketStream(new LaneJob))

    /** Of each lane: [[LanePorts.room]]. */
    val room = Input(Vec(lanes, Vec(2, Bool())))

    /** Lanes that have failed: a packet that has begun to enter one goes on, ready or not. */
    val failed = Input(UInt(lanes.W))
    val bypass = PacketStream(new LinkMeta)
    val order = Valid(new OrderEntry(lanes))
    val drop = Valid(new DropEvent)
    val idle = Output(Bool())
  })

  private val jobQueue = Module(new SecretQueue(jobs))
  jobQueue.io.in <> io.job
  jobQueue.io.wipe := io.blocked
  private val beats = LutQueue(io.in, 16)
  private val picker = Module(new LanePicker(lanes))
  for (kind <- 0 to 1) picker.io.laneReady(kind) := VecInit(io.room.map(_(kind))).asUInt

  private val bypassTarget = (BigInt(1) << lanes).U((lanes + 1).W)
  private val beat = beats.bits
  private val job = jobQueue.io.out.bits

  // The output stage: one beat, its job, where it goes.
  private val stageValid = RegInit(false.B)
  private val stageFirst = RegInit(false.B)
  private val stageBeat = Reg(new PacketBeat(new NoMeta))
  private val stageJob = RegInit(PathJob.none)
  private val target = Reg(UInt((lanes + 1).W))
  private val stageFast = Reg(Bool())

  private val readies = io.bypass.ready ## (VecInit(io.lane.map(_.ready)).asUInt | io.failed)
  private val targetReady = (readies & target).orR
  private val shut = io.blocked || io.closed
  private val withdraw = shut && stageValid && stageFirst
  private val stageFire = stageValid && targetReady
  private val withdrawn = withdraw && !stageFire

  // The input side: `first` beats take a job, others follow the first.
  private val first = RegInit(true.B)
  private val dropping = Reg(Bool())
  private val route = jobQueue.io.route
  private val fast = jobQueue.io.fast
  private val passes = route === Route.lane || route === Route.bypass
  private val dropsFirst = shut || !passes
  private val pick = Mux(fast, picker.io.pick(1), picker.io.pick(0))
  private val startable = jobQueue.io.out.valid && !io.test.request &&
    (dropsFirst || route === Route.bypass || Mux(fast, picker.io.valid(1), picker.io.valid(0)))
  private val drops = Mux(first, dropsFirst, dropping)
  private val take = !withdraw && (drops || !stageValid || stageFire) && (!first || startable)
  beats.ready := take
  private val taken = beats.fire
  private val starts = taken && first
  jobQueue.io.taken := starts
  io.jobTaken := RegNext(starts, false.B)

  picker.io.taken := starts && !drops && route === Route.lane
  picker.io.lane := pick
  picker.io.blocks := job.lane.meta.length(PacketStream.lengthBits - 1, 4) +&
    Mux(fast, Dispatcher.overheadBlocks.U, Dispatcher.hashedOverheadBlocks.U)

  when(taken) {
    first := beat.last
    dropping := drops
  }
  when(stageFire) {
    stageValid := false.B
    stageFirst := false.B
  }
  when(taken && !drops) {
    stageValid := true.B
    stageFirst := first
    stageBeat := beat
    when(first) {
      stageJob := job
      target := Mux(route === Route.bypass, bypassTarget, pick)
      stageFast := fast || route === Route.bypass
    }
  }
  when(withdrawn) {
    stageValid := false.B
    stageFirst := false.B
    dropping := true.B
  }
  // The lane took the key with the first beat, and has lost it; a bypassed packet needs none. The
  // meta is no secret, and the bypass reads it with every beat. Nor is the suite, by which a lane
  // files every beat, the last as the first.
  private val keyless = WireDefault(PathJob.none.lane)
  keyless.suite := stageJob.lane.suite
  keyless.icv := stageJob.lane.icv
  keyless.meta := stageJob.lane.meta
  when(io.blocked && !stageFirst) { stageJob.lane := keyless }
  // Not `stageFirst`: it has no order entry, and nothing withdraws it. Behind the erasure, which
  // keeps the suite of the beat that was there.
  io.test.beat.ready := io.test.request && first && !stageValid
  when(io.test.beat.fire) {
    stageValid := true.B
    stageBeat.data := io.test.beat.bits.data
    stageBeat.bytes := io.test.beat.bits.bytes
    stageBeat.last := io.test.beat.bits.last
    stageBeat.error := false.B
    stageJob.lane := io.test.beat.bits.meta
    target := io.test.lane
  }

  for ((lane, index) <- io.lane.zipWithIndex) {
    lane.valid := stageValid && target(index)
    copyBody(lane.bits)
    lane.bits.meta := stageJob.lane
  }
  io.bypass.valid := stageValid && target(lanes)
  copyBody(io.bypass.bits)
  io.bypass.bits.meta := stageJob.lane.meta

  private def copyBody[M <: Data](to: PacketBeat[M]): Unit = {
    to.data := stageBeat.data
    to.bytes := stageBeat.bytes
    to.last := stageBeat.last
    to.error := stageBeat.error
  }

  io.order.valid := stageValid && stageFirst && targetReady
  io.order.bits.target := target
  io.order.bits.fast := stageFast
  io.order.bits.epoch := stageJob.epoch

  io.drop.valid := RegNext((starts && drops) || withdrawn, false.B)
  io.drop.bits.route := RegNext(
    Mux(io.blocked, Route.notReady, Mux(withdrawn || (io.closed && passes), Route.selfTest, route))
  )
  io.drop.bits.epoch := RegNext(Mux(withdrawn, stageJob.epoch, job.epoch))
  private val dropped = Mux(withdrawn, stageJob.lane.meta, job.lane.meta)
  io.drop.bits.prefix.valid := RegNext(dropped.hasPrefix)
  io.drop.bits.prefix.bits := RegNext(PrefixRow(dropped))
  io.idle := !stageValid && first && !beats.valid && !jobQueue.io.out.valid

  assert(!(starts && withdrawn), "one drop a cycle")
  assert(!(starts && !drops && route === Route.lane && !pick.orR), "a packet to no lane")
}

object Dispatcher {

  /** What a packet costs a lane beside its bytes, in blocks: tag mask, length block, ESP header. */
  val overheadBlocks: Int = 3

  /**
   * The same with a hash, which takes 4 cycles for every 64 bytes or part of them, and once more
   * for the outer hash.
   */
  val hashedOverheadBlocks: Int = 9
}
