// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.memory.{MemoryPipe, RowRepair, Secded}
import sallyport.common.registers.map.OutboundKeyRow
import sallyport.common.stream.{NoMeta, PacketStream}
import sallyport.common.table.{DirectTable, DirectTableParams, TablePort}
import sallyport.crypto.dispatch.{PacketHeads, PathJob, Route}
import sallyport.crypto.suite.Suite

/** Flipped bits that packets met in this cycle, and that were repaired or are beyond repair. */
class EncryptUpsets extends Bundle {

  /** Of a sequence counter ([[SequenceAuthority]]). */
  val numberRepaired = Bool()
  val numberLost = Bool()

  /** Of a key row. */
  val keyRepaired = Bool()
  val keyLost = Bool()
}

/**
 * Finds the key of each outbound packet and gives it its sequence number and nonce.
 *
 * Beats pass on at once; the packet's job follows [[EncryptFetch.latency]] cycles after its first
 * beat. A packet every 2 cycles, of any SAs. Packets wait while a key row is being written, or a
 * counter read or raised (some 20 cycles). Nothing is dropped here: the job says what becomes of
 * the packet.
 *
 * The IV is the sequence number XOR the row's `iv_mask` (RFC 4106 section 3.1: unique for each key,
 * which any one-to-one image of a counter is). Boxes that share a key differ in `node`, with which
 * each number ends. The key travels with the job, so a row written meanwhile changes nothing for a
 * packet that has begun.
 *
 * Key rows are words of [[Secded]] in their table. A flipped bit of a key is repaired while the
 * packet waits for its number. Two, or one of the bits that the packet's route and number need
 * before, drop the packets of the SA until software writes the row anew: `Route.upset`.
 *
 * @param pipe registers of the memory of key rows
 * @param memory of key rows
 */
class EncryptFetch(
    saBits: Int,
    suites: Seq[Suite],
    jobs: Int = 8,
    pipe: MemoryPipe = MemoryPipe.banks,
    memory: DirectTableParams => DirectTable = new DirectTable(_)
) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val beats = PacketStream(new NoMeta)
    val job = Decoupled(new PathJob)
    val jobTaken = Input(Bool())
    val table = Flipped(new TablePort)

    /**
     * Of the sequence counters. Never at the same time as `table`: software has one access at
     * a time.
     */
    val numbers = Flipped(new TablePort)
    val allowBypass = Input(Bool())
    val allowFrames = Input(Bool())

    /** Packets that start now are dropped as not ready. */
    val closed = Input(Bool())
    val blocked = Input(Bool())
    val clear = Input(Bool())
    val scrub = Input(Bool())
    val tableReady = Output(Bool())

    /** A packet has begun. */
    val received = Output(Bool())
    val softLimit = Valid(UInt(saBits.W))

    /**
     * A packet was refused: its SA has no number left, or its counter or key row is lost to flipped
     * bits.
     */
    val exhausted = Valid(UInt(saBits.W))

    val upsets = Output(new EncryptUpsets)
  })

  PacketHeads.requireRate(jobs, EncryptFetch.latency)
  private val heads = Module(new PacketHeads(jobs))
  private val code = Secded(OutboundKeyRow.bits)
  private val keys = Module(new KeyTable(saBits, OutboundKeyRow, OutboundKeyRow.valid, code, pipe, memory))
  private val numbers = Module(new NumberTable(saBits))
  private val authority = Module(new SequenceAuthority(saBits))

  heads.io.in <> io.in
  io.beats <> heads.io.beats
  heads.io.jobTaken := io.jobTaken
  keys.io.table <> io.table
  keys.io.mayWrite := true.B
  keys.io.clear := io.clear
  keys.io.scrub := io.scrub
  io.tableReady := keys.io.ready
  numbers.io.table <> io.numbers
  numbers.io.clear := io.clear
  numbers.io.last := authority.io.last
  // While traffic is dropped nothing is paired with a row, so nothing need wait.
  heads.io.hold := RegNext((keys.io.hold || numbers.io.hold) && !io.blocked, false.B)

  // One cycle longer than `blocked`, until `hold` is valid again.
  private val closed = RegNext(io.closed || io.blocked, true.B) || io.blocked
  private val head = heads.io.head
  io.received := head.valid
  private val saOutOfRange = (head.bits.meta.sa >> saBits) =/= 0.U
  keys.io.lookup.valid := head.valid && !closed
  keys.io.lookup.bits := head.bits.meta.sa(saBits - 1, 0)

  // The row arrives; the decision is a register behind it.
  private val rowAt = KeyTable.latency
  private val headAtRow = ShiftRegister(head.bits, rowAt)
  private val closedAtRow = ShiftRegister(closed, rowAt)
  private val outOfRangeAtRow = ShiftRegister(saOutOfRange, rowAt)
  private val validAtRow = ShiftRegister(head.valid, rowAt, false.B, true.B)
  private val looked = ShiftRegister(head.valid && !closed, rowAt, false.B, true.B)
  private val row = Mux(looked, keys.io.result.row, 0.U)
  private val hit = keys.io.result.hit && !outOfRangeAtRow

  private val decided = RegNext(validAtRow, false.B)
  private val route = RegNext(
    KeyDecision.encrypt(
      closedAtRow,
      headAtRow,
      Mux(headAtRow.meta.transport, io.allowFrames, io.allowBypass),
      KeyDecision.usable(hit, OutboundKeyRow.suite(row), suites),
      OutboundKeyRow.transport(row).asBool,
      OutboundKeyRow.suite(row),
      OutboundKeyRow.icv(row)
    )
  )
  private val headDecided = RegNext(headAtRow)
  private val rowDecided = RegNext(row, 0.U)

  // The counter is read while the key row is.
  private val nextAt = rowAt + 1 - SequenceAuthority.ahead
  authority.io.next.valid := ShiftRegister(head.valid, nextAt, false.B, true.B)
  authority.io.next.bits := ShiftRegister(head.bits.meta.sa(saBits - 1, 0), nextAt)
  authority.io.request.valid := decided
  authority.io.request.bits.sa := headDecided.meta.sa(saBits - 1, 0)
  authority.io.request.bits.take := route === Route.lane
  authority.io.request.bits.esn := OutboundKeyRow.esn(rowDecided)
  authority.io.request.bits.softLimit := OutboundKeyRow.softLimit(rowDecided)
  authority.io.request.bits.hardLimit := OutboundKeyRow.hardLimit(rowDecided)
  authority.io.request.bits.nodeBits := OutboundKeyRow.nodeBits(rowDecided)
  authority.io.request.bits.node := OutboundKeyRow.node(rowDecided)
  // A cycle late: a row that is written ends a long path, and no packet that meets it is here
  // so soon.
  authority.io.restart := RegNext(keys.io.restart, 0.U.asTypeOf(keys.io.restart))
  authority.io.raise := numbers.io.raise
  io.softLimit := authority.io.softLimit
  io.upsets.numberRepaired := authority.io.repaired
  io.upsets.numberLost := authority.io.lost

  // Rows run through in step with the authority and leave zeros behind. A packet that goes past the
  // lanes has none.
  private val grantAt = SequenceAuthority.latency
  private val repair = Module(new RowRepair(code, EncryptFetch.early))
  require(RowRepair.latency == grantAt + 1, "rows and numbers do not meet")
  repair.io.word := Mux(looked, keys.check ## keys.io.result.row, 0.U)
  repair.io.keep := route === Route.lane
  private val routeGranted = ShiftRegister(route, grantAt)
  private val headGranted = ShiftRegister(headDecided.meta, grantAt)
  private val rowGranted = repair.io.row
  private val grant = authority.io.grant
  private val job = Wire(new PathJob)
  private val upset = repair.io.spoiled || grant.bits.spoiled
  private val refused = routeGranted === Route.lane && (upset || !grant.bits.granted)
  job.route := Mux(refused, Mux(upset, Route.upset, Route.exhausted), routeGranted)
  job.epoch := false.B
  job.lane.suite := OutboundKeyRow.suite(rowGranted)(Suite.laneBits - 1, 0)
  job.lane.icv := OutboundKeyRow.icv(rowGranted)
  job.lane.key := OutboundKeyRow.key(rowGranted)
  job.lane.salt := OutboundKeyRow.salt(rowGranted)
  job.lane.auth := OutboundKeyRow.auth(rowGranted)
  job.lane.esn := OutboundKeyRow.esn(rowGranted)
  job.lane.sequence := grant.bits.sequence
  job.lane.iv := grant.bits.sequence ^ OutboundKeyRow.ivMask(rowGranted)
  job.lane.spi := OutboundKeyRow.spi(rowGranted)
  job.lane.meta := headGranted
  job.lane.meta.sequence := 0.U
  io.job.valid := grant.valid
  io.job.bits := job
  io.exhausted.valid := io.job.valid && refused
  io.exhausted.bits := headGranted.sa(saBits - 1, 0)
  io.upsets.keyRepaired := io.job.valid && repair.io.repaired
  io.upsets.keyLost := io.job.valid && repair.io.spoiled
  assert(!io.job.valid || io.job.ready, "more jobs than credit")

  // A bit for each cycle in which a packet may be between its lookup and its number.
  private val keyed = RegInit(0.U(EncryptFetch.latency.W))
  keyed := keyed(EncryptFetch.latency - 2, 0) ## (head.valid && !closed)
  keys.io.drained := keyed === 0.U
  numbers.io.drained := keyed === 0.U
  assert(!(keys.io.hold && numbers.io.hold), "software has one access to a table at a time")
}

object EncryptFetch {

  /** The bits that decide on a packet's route and number before the row is repaired. */
  private val early: BigInt = {
    import OutboundKeyRow._
    Seq(valid, suite, icv, transport, esn, softLimit, hardLimit, nodeBits, node).map(f =>
      f.put((BigInt(1) << f.width) - 1)
    ).sum
  }

  /** Cycles from a packet's first beat to its job: table, decision, grant. */
  val latency: Int = KeyTable.latency + 1 + SequenceAuthority.latency
}
