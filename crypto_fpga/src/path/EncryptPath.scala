// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.path

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.stream.PacketStream
import sallyport.common.table.TablePort
import sallyport.crypto.clear_prefix.PrefixDetour
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.dispatch.{LaneFarm, PathJob, Route}
import sallyport.crypto.keys.{EncryptFetch, EncryptUpsets}
import sallyport.crypto.lane.{LaneConfig, LanePorts, Verdict}
import sallyport.crypto.selftest.SelfTestState

/** What either path of the chip takes from the chip around it. */
class PathControl extends Bundle {

  /** CONTROL.enable. */
  val enable = Bool()

  /** CONTROL.bypass_encrypt or bypass_decrypt. */
  val allowBypass = Bool()

  /** The same of whole frames: CONTROL.bump besides. */
  val allowFrames = Bool()

  /** From the [[Zeroizer]]. */
  val blocked = Bool()
  val clearTables = Bool()
  val zeroizeLanes = Bool()
  val scrub = Bool()

  /** A pulse: the self-test runs. */
  val runTest = Bool()
}

/**
 * Packets of the encrypt path by fate, in this cycle. `received` = `sent` + the others once the
 * path is empty.
 */
class EncryptCounts extends Bundle {
  val received = Bool()
  val sent = Bool()
  val noKey = Bool()
  val wrongMode = Bool()
  val bypassDenied = Bool()
  val exhausted = Bool()
  val oversize = Bool()
  val upset = Bool()

  /** Its lane has failed, or all have. */
  val selfTest = UInt(2.W)

  /** Dropped before the lanes, and zeroized in one. */
  val notReady = UInt(2.W)
}

/**
 * Red to black: key and number, ESP, order.
 *
 * Drops, one count each: packets that come while the chip is not enabled or keys are being erased,
 * and those whose keys are erased while they are inside (`notReady`); bypass packets without
 * `allowBypass` and bypass frames without `allowFrames` (`bypassDenied`); packets without a usable
 * key row (`noKey`), in another mode than the row's or with a clear prefix that cannot be one
 * (`wrongMode`), whose ESP packet would exceed 9582 bytes (`oversize`), whose SA has no number left
 * (`exhausted`), or has lost its counter or key row to flipped bits (`upset`); and those whose lane
 * has failed, or all that come while no lane is in service (`selfTest`).
 *
 * What leaves is an ESP packet made by a lane, in transport mode behind the clear headers with
 * which it came, or a packet that came with `bypass` while that was allowed, and says so in its
 * metadata. `moved` and `peerTag` leave as 0, and so does `nextHeader` but for a bypassed
 * packet: a captured inner chip writes nothing into them. A beat a cycle, a packet every 2 cycles,
 * bounded by the lanes. Latency: [[EncryptFetch]], dispatch 2, lane, merge 1, [[PrefixJoin]].
 * Stalls with `out`, and while a key row is written or a counter read or raised.
 */
class EncryptPath(config: CryptoConfig, lane: LaneConfig => LanePorts) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val out = PacketStream(new LinkMeta)
    val table = Flipped(new TablePort)
    val numbers = Flipped(new TablePort)
    val tableReady = Output(Bool())
    val control = Input(new PathControl)
    val test = Output(new SelfTestState(config.lanes))
    val counts = Output(new EncryptCounts)
    val softLimit = Valid(UInt(config.saBits.W))
    val exhausted = Valid(UInt(config.saBits.W))
    val upsets = Output(new EncryptUpsets)
  })

  private val prefixes = Module(new PrefixDetour)
  private val fetch = Module(new EncryptFetch(config.saBits, config.suites, PathJob.waiting, config.keyPipe))
  private val farm =
    Module(new LaneFarm(config.lane(encrypt = true), config.lanes, PathJob.waiting, lane, config.selfTest))

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
  // The inner chip chose these, and the outer chip needs none of them for ESP.
  io.out.bits.meta.moved := false.B
  io.out.bits.meta.peerTag := 0.U
  when(!prefixes.io.out.bits.meta.bypass) { io.out.bits.meta.nextHeader := 0.U }

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
  farm.io.hold := false.B
  io.softLimit := fetch.io.softLimit
  io.exhausted := fetch.io.exhausted
  io.upsets := fetch.io.upsets

  private def dropped(route: Route.Type): Bool = farm.io.drop.valid && farm.io.drop.bits.route === route
  private def merged(verdict: Verdict.Type): Bool = farm.io.merged.valid && farm.io.merged.bits.verdict === verdict
  io.counts.received := fetch.io.received
  io.counts.sent := merged(Verdict.ok)
  io.counts.noKey := dropped(Route.noKey)
  io.counts.wrongMode := dropped(Route.wrongMode)
  io.counts.bypassDenied := dropped(Route.bypassDenied)
  io.counts.exhausted := dropped(Route.exhausted)
  io.counts.oversize := dropped(Route.oversize)
  io.counts.upset := dropped(Route.upset)
  io.counts.selfTest := dropped(Route.selfTest) +& merged(Verdict.laneFailed)
  io.counts.notReady := dropped(Route.notReady) +& merged(Verdict.zeroized)

  assert(
    !farm.io.merged.valid || Seq(Verdict.ok, Verdict.zeroized, Verdict.laneFailed).map(merged).reduce(_ || _),
    "an encrypting lane judges nothing"
  )
}
