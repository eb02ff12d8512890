// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.link.LinkMeta
import sallyport.common.memory.{MemoryPipe, RowCode, RowParity}
import sallyport.common.registers.map.{InboundKeyRow, InboundNumberRow}
import sallyport.common.stream.{NoMeta, PacketStream}
import sallyport.common.table.{DirectTable, DirectTableParams, TableAccess, TablePort}
import sallyport.crypto.dispatch.{PacketHeads, PathJob, Route}
import sallyport.crypto.suite.Suite

/**
 * Finds the key of each inbound packet and infers the high half of its sequence number.
 *
 * Beats pass on at once; the packet's job follows [[DecryptFetch.latency]] cycles after its first
 * beat. A packet every 2 cycles, of any SAs. Packets wait while a key row is being written (some 20
 * cycles). Nothing is dropped here: the job says what becomes of the packet. A packet whose SPI is
 * not its key row's has no key.
 *
 * `verified` brings back what the lanes found authentic, and `numbers` what software says was on
 * another box (fail-over): either raises the highest number of an SA. A packet may be verified
 * after its SA's row was written anew, and its number must not count for the new key. So each job
 * carries an epoch bit, which flips with every row written; numbers that come back with the old
 * epoch are ignored (for other SAs that only means that the highest number waits for the next
 * packet), and a row is written only when no packet of the epoch before is in the chip. `merged`
 * and `dropped` report every packet that has ended, good or bad.
 *
 * A key row has bits of parity ([[sallyport.common.memory.RowParity]]). Packets of a row with a
 * flipped bit are dropped, until software writes it anew: `Route.upset`. A wrong bit of a cipher's
 * key would pass the ICV of a suite that has another key for it.
 *
 * @param inFlight
 *   packets that may have begun here and not ended, at most
 * @param pipe
 *   registers of the memory of key rows
 * @param memory
 *   of key rows
 */
class DecryptFetch(
    saBits: Int,
    suites: Seq[Suite],
    inFlight: Int,
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

    /** Of the highest numbers, which a write raises. */
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

    /** A packet of this epoch came out of the lanes, and one was dropped before them. */
    val merged = Flipped(Valid(Bool()))
    val dropped = Flipped(Valid(Bool()))
    val verified = Flipped(Valid(new EsnVerified(saBits)))

    /** While it is high no packet may begin to leave the lanes: [[NumberRaise]]. */
    val hold = Output(Bool())
  })

  PacketHeads.requireRate(jobs, DecryptFetch.latency)
  private val heads = Module(new PacketHeads(jobs))
  private val keys = Module(new KeyTable(saBits, InboundKeyRow, InboundKeyRow.valid, DecryptFetch.code, pipe, memory))
  private val inference = Module(new EsnInference(saBits))
  // There is no memory here to clear: the two rows are the fewest that TableAccess clears.
  private val numbers = Module(
    new TableAccess(1 << saBits, InboundNumberRow.bits, clearRows = 2, writeOnly = true, readLatency = 1)
  )

  heads.io.in <> io.in
  io.beats <> heads.io.beats
  heads.io.jobTaken := io.jobTaken
  keys.io.table <> io.table
  keys.io.clear := io.clear
  keys.io.scrub := io.scrub
  io.tableReady := keys.io.ready
  heads.io.hold := RegNext(keys.io.hold && !io.blocked, false.B)

  // One cycle longer than `blocked`, until `hold` is valid again.
  private val closed = RegNext(io.closed || io.blocked, true.B) || io.blocked
  private val head = heads.io.head
  io.received := head.valid
  private val saOutOfRange = (head.bits.meta.sa >> saBits) =/= 0.U
  keys.io.lookup.valid := head.valid && !closed
  keys.io.lookup.bits := head.bits.meta.sa(saBits - 1, 0)

  private val epoch = RegInit(false.B)
  when(keys.io.restart.valid) { epoch := !epoch }
  private val underWay = RegInit(VecInit.fill(2)(0.U(log2Ceil(inFlight + 1).W)))
  for (e <- 0 to 1) {
    def of(event: Valid[Bool]): Bool = event.valid && event.bits === (e == 1).B
    underWay(e) := underWay(e) + (head.valid && epoch === (e == 1).B) - of(io.merged) - of(io.dropped)
    assert(underWay(e) =/= 0.U || (!of(io.merged) && !of(io.dropped)), "a packet ended that never began")
    assert(underWay(e) <= inFlight.U, "more packets under way than can be")
  }
  keys.io.mayWrite := RegNext(Mux(epoch, underWay(0), underWay(1)) === 0.U, false.B)

  // The row arrives; the decision is a register behind it.
  private val rowAt = KeyTable.latency
  private val headAtRow = ShiftRegister(head.bits, rowAt)
  private val closedAtRow = ShiftRegister(closed, rowAt)
  private val outOfRangeAtRow = ShiftRegister(saOutOfRange, rowAt)
  private val epochAtRow = ShiftRegister(epoch, rowAt)
  private val validAtRow = ShiftRegister(head.valid, rowAt, false.B, true.B)
  private val looked = ShiftRegister(head.valid && !closed, rowAt, false.B, true.B)
  private val row = Mux(looked, keys.io.result.row, 0.U)
  private val spi = WireOrder.bigEndian(headAtRow.bytes(31, 0))
  private val hit = keys.io.result.hit && !outOfRangeAtRow && spi === InboundKeyRow.spi(row)

  private val decided = RegNext(validAtRow, false.B)
  private val route = RegNext(
    KeyDecision.decrypt(
      closedAtRow,
      headAtRow,
      Mux(headAtRow.meta.transport, io.allowFrames, io.allowBypass),
      KeyDecision.usable(hit, InboundKeyRow.suite(row), suites),
      InboundKeyRow.transport(row).asBool
    )
  )
  private val headDecided = RegNext(headAtRow)
  private val rowDecided = RegNext(row, 0.U)
  private val epochDecided = RegNext(epochAtRow)

  // The highest number is read while the key row is.
  private val nextAt = rowAt + 1 - EsnInference.ahead
  inference.io.next.valid := ShiftRegister(head.valid, nextAt, false.B, true.B)
  inference.io.next.bits := ShiftRegister(head.bits.meta.sa(saBits - 1, 0), nextAt)
  inference.io.request.valid := decided
  inference.io.request.bits.esn := route === Route.lane && InboundKeyRow.esn(rowDecided).asBool
  inference.io.request.bits.window := InboundKeyRow.window(rowDecided)
  inference.io.request.bits.low := WireOrder.bigEndian(headDecided.bytes(63, 32))
  // A cycle late: a row that is written ends a long path, and no packet that meets it is here
  // so soon.
  inference.io.restart := RegNext(keys.io.restart, 0.U.asTypeOf(keys.io.restart))
  private val raise = Module(new NumberRaise(saBits))
  raise.io.verified.valid := io.verified.valid && io.verified.bits.epoch === epoch
  raise.io.verified.bits.sa := io.verified.bits.sa
  raise.io.verified.bits.sequence := io.verified.bits.sequence
  raise.io.software.valid := numbers.io.memory.valid && !numbers.io.clearing
  raise.io.software.bits.sa := numbers.io.index
  raise.io.software.bits.sequence := numbers.io.memory.bits.row
  raise.io.ample := inference.io.ample
  io.hold := raise.io.hold
  inference.io.update <> raise.io.update
  numbers.io.table <> io.numbers
  numbers.io.clear := io.clear
  numbers.io.memory.ready := raise.io.software.ready || numbers.io.clearing
  numbers.io.data := 0.U

  // Rows run through in step with the inference and leave zeros behind. A packet that goes past the
  // lanes has none.
  private val answerAt = EsnInference.latency
  private val rowAnswered = ShiftRegister(Mux(route === Route.lane, rowDecided, 0.U), answerAt, 0.U, true.B)
  // Meanwhile its parity: a bit that flipped in the memory may be one of a key that no ICV covers.
  private val sums = DecryptFetch.code.parts(Mux(looked, keys.check ## keys.io.result.row, 0.U))
  private val wrong = RegNext(VecInit(sums.map(RegNext(_, 0.U).xorR)).asUInt.orR, false.B)
  private val upset = ShiftRegister(wrong, answerAt - 1, false.B, true.B)
  private val routeAnswered = ShiftRegister(route, answerAt)
  private val job = Wire(new PathJob)
  job.route := Mux(upset && routeAnswered === Route.lane, Route.upset, routeAnswered)
  job.epoch := ShiftRegister(epochDecided, answerAt)
  job.lane.suite := InboundKeyRow.suite(rowAnswered)(Suite.laneBits - 1, 0)
  job.lane.icv := InboundKeyRow.icv(rowAnswered)
  job.lane.key := InboundKeyRow.key(rowAnswered)
  job.lane.salt := InboundKeyRow.salt(rowAnswered)
  job.lane.auth := InboundKeyRow.auth(rowAnswered)
  job.lane.esn := InboundKeyRow.esn(rowAnswered)
  job.lane.sequence := inference.io.sequence.bits
  job.lane.iv := 0.U
  job.lane.spi := 0.U
  job.lane.meta := ShiftRegister(headDecided.meta, answerAt)
  job.lane.meta.sequence := Mux(routeAnswered === Route.lane, inference.io.sequence.bits, 0.U)
  io.job.valid := inference.io.sequence.valid
  io.job.bits := job
  assert(!io.job.valid || io.job.ready, "more jobs than credit")

  // A bit for each cycle in which a packet may be between its lookup and its number.
  private val keyed = RegInit(0.U(DecryptFetch.latency.W))
  keyed := keyed(DecryptFetch.latency - 2, 0) ## (head.valid && !closed)
  keys.io.drained := keyed === 0.U
}

/** A packet that a lane found authentic, with the epoch of its job. */
class EsnVerified(saBits: Int) extends EsnUpdate(saBits) {
  val epoch = Bool()
}

object DecryptFetch {

  /**
   * Of a key row: as many bits as the memory's words have left. One that is wrong drops the SA's
   * packets.
   */
  private val code: RowCode = RowParity(InboundKeyRow.bits, checkBits = 3)

  /** Cycles from a packet's first beat to its job: table, decision, inference. */
  val latency: Int = KeyTable.latency + 1 + EsnInference.latency
}
