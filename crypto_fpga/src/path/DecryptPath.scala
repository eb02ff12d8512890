// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.path

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.registers.AuditEvent
import sallyport.common.registers.map.AuditReason
import sallyport.common.stream.PacketStream
import sallyport.common.table.TablePort
import sallyport.crypto.clear_prefix.PrefixDetour
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.dispatch.{LaneFarm, PathJob, Route}
import sallyport.crypto.keys.DecryptFetch
import sallyport.crypto.lane.{LaneConfig, LanePorts, Verdict}
import sallyport.crypto.selftest.SelfTestState

/**
 * Packets of the decrypt path by fate, in this cycle. `received` = `sent` + the others once the
 * path is empty.
 */
class DecryptCounts extends Bundle {
  val received = Bool()
  val sent = Bool()
  val noKey = Bool()
  val wrongMode = Bool()
  val bypassDenied = Bool()
  val icv = Bool()
  val padding = Bool()
  val dummy = Bool()

  val upset = Bool()

  /** By length alone, and by a lane. */
  val truncated = UInt(2.W)

  /** Its lane has failed, or all have. */
  val selfTest = UInt(2.W)

  /** Dropped before the lanes, and zeroized in one. */
  val notReady = UInt(2.W)
}

/**
 * Black to red: key and number, ICV, padding, order.
 *
 * Drops, one count each: packets that come while the chip is not enabled or keys are being erased,
 * and those whose keys are erased while they are inside (`notReady`); bypass packets without
 * `allowBypass` and bypass frames without `allowFrames` (`bypassDenied`); packets too short for ESP
 * or not a multiple of 4 bytes (`truncated`), without a usable key row of their SPI (`noKey`), in
 * another mode than the row's or with a clear prefix that cannot be one (`wrongMode`), or whose key
 * row has a flipped bit (`upset`); and by what the lane finds: `icv`, `padding`, a pad longer than
 * the payload (`truncated`), next header 59 (`dummy`); and those whose lane has failed, or all that
 * come while no lane is in service (`selfTest`).
 *
 * `audit` tells of each packet that is dropped as `icv`, a cycle later, and stalls nothing.
 *
 * What leaves is the payload of an ESP packet whose ICV a lane found good, with its 64-bit sequence
 * number and next header in the metadata (the receiver judges both), in transport mode behind
 * the clear headers with which it came, which no ICV covers; or a packet that came with `bypass`
 * while that was allowed, and says so. A beat a cycle, a packet every 2 cycles, bounded by the
 * lanes. Latency: [[DecryptFetch]], dispatch 2, lane, merge 1, [[PrefixJoin]]. Stalls with `out`
 * and while a key row is written.
 */
class DecryptPath(config: CryptoConfig, lane: LaneConfig => LanePorts) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val out = PacketStream(new LinkMeta)
    val table = Flipped(new TablePort)
    val numbers = Flipped(new TablePort)
    val tableReady = Output(Bool())
    val control = Input(new PathControl)
    val test = Output(new SelfTestState(config.lanes))
    val counts = Output(new DecryptCounts)
    val audit = Valid(new AuditEvent)
  })

  private val prefixes = Module(new PrefixDetour)
  private val laneConfig = config.lane(encrypt = false)
  // Those that wait for dispatch, one at its output, those behind it, and one from dispatch and one
  // from the merge whose event is on its way back.
  private val inFlight = PathJob.waiting + 1 + LaneFarm.packets(laneConfig, config.lanes) + 2
  private val fetch = Module(new DecryptFetch(config.saBits, config.suites, inFlight, PathJob.waiting, config.keyPipe))
  private val farm = Module(new LaneFarm(laneConfig, config.lanes, PathJob.waiting, lane, config.selfTest))

  prefixes.io.in <> io.in
  fetch.io.in <> prefixes.io.bare
  farm.io.in <> fetch.io.beats
  farm.io.job <> fetch.io.job
  fetch.io.jobTaken := farm.io.jobTaken
  prefixes.io.dropped := farm.io.drop
  prefixes.io.merged := farm.io.merged
  prefixes.io.row := farm.io.row
  prefixes.io.lanes <> farm.io.out
  io.out <> prefixes.io.out

  fetch.io.table <> io.table
  fetch.io.numbers <> io.numbers
  io.tableReady := fetch.io.tableReady
  fetch.io.allowBypass := io.control.allowBypass
  fetch.io.allowFrames := io.control.allowFrames
  fetch.io.closed := !io.control.enable || !farm.io.test.started
  fetch.io.blocked := io.control.blocked
  fetch.io.clear := io.control.clearTables
  fetch.io.scrub := io.control.scrub
  farm.io.blocked := io.control.blocked
  farm.io.zeroize := io.control.zeroizeLanes
  farm.io.runTest := io.control.runTest
  io.test := farm.io.test

  // What a lane found authentic raises the SA's highest number, padding and next header whatever
  // they are.
  private val event = farm.io.merged
  private def merged(verdict: Verdict.Type): Bool = event.valid && event.bits.verdict === verdict
  fetch.io.merged.valid := event.valid
  fetch.io.merged.bits := event.bits.epoch
  fetch.io.dropped.valid := farm.io.drop.valid
  fetch.io.dropped.bits := farm.io.drop.bits.epoch
  private val authentic = Seq(Verdict.ok, Verdict.badPadding, Verdict.dummy).map(merged).reduce(_ || _)
  fetch.io.verified.valid := authentic && !event.bits.bypass
  fetch.io.verified.bits.sa := event.bits.meta.sa(config.saBits - 1, 0)
  fetch.io.verified.bits.sequence := event.bits.meta.sequence
  fetch.io.verified.bits.epoch := event.bits.epoch
  farm.io.hold := fetch.io.hold

  // Low halves alone: the high one of a forged packet is no more than a guess.
  io.audit.valid := RegNext(merged(Verdict.badIcv), false.B)
  io.audit.bits.sa := RegNext(event.bits.meta.sa)
  io.audit.bits.reason := AuditReason.decIcv.U
  io.audit.bits.sequence := RegNext(event.bits.meta.sequence(31, 0))
  io.audit.bits.packet := 0.U(0.W)

  private def dropped(route: Route.Type): Bool = farm.io.drop.valid && farm.io.drop.bits.route === route
  io.counts.received := fetch.io.received
  io.counts.sent := merged(Verdict.ok)
  io.counts.noKey := dropped(Route.noKey)
  io.counts.wrongMode := dropped(Route.wrongMode)
  io.counts.bypassDenied := dropped(Route.bypassDenied)
  io.counts.upset := dropped(Route.upset)
  io.counts.icv := merged(Verdict.badIcv)
  io.counts.padding := merged(Verdict.badPadding)
  io.counts.dummy := merged(Verdict.dummy)
  io.counts.truncated := dropped(Route.truncated) +& merged(Verdict.truncated)
  io.counts.selfTest := dropped(Route.selfTest) +& merged(Verdict.laneFailed)
  io.counts.notReady := dropped(Route.notReady) +& merged(Verdict.zeroized)
}
