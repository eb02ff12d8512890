// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.memory.{CodedMemory, ParityMemory}
import sallyport.common.registers.map.ReplayRow
import sallyport.common.table.{TableAccess, TablePort}

/** A packet whose ICV is good, on its way past the window of its SA. */
class ReplayQuery(rowBits: Int) extends Bundle {

  /**
   * Window rows of the SA: a window of up to 1024 uses the first, one of up to 2048 the
   * first two.
   */
  val rows = Vec(ReplayWindow.mostRows, UInt(rowBits.W))
  val sequence = UInt(64.W)

  /** The SA's window in packets, 64 to 4096 (RFC 4303 3.4.3: 32 at least, 64 by default). */
  val window = UInt(16.W)
}

/** The window rows of an SA that starts anew. */
class ReplayClear(rowBits: Int) extends Bundle {
  val rows = Vec(ReplayWindow.mostRows, UInt(rowBits.W))
  val window = UInt(16.W)
}

/** Flipped bits that packets met in this cycle. */
class ReplayUpsets extends Bundle {

  /** Of an SA's highest number: repaired, or more than the code repairs. */
  val topRepaired = Bool()
  val topLost = Bool()

  /** Of a window row: numbers that were not received count as received. */
  val rowFilled = Bool()
}

class AntiReplayIO(rowBits: Int) extends Bundle {
  val query = Flipped(Valid(new ReplayQuery(rowBits)))
  val verdict = Valid(new ReplayWindow.Verdict)
  val clear = Flipped(Valid(new ReplayClear(rowBits)))
  val table = Flipped(new TablePort)
  val ready = Output(Bool())
  val upsets = Output(new ReplayUpsets)
}

/**
 * Checks and updates the anti-replay windows of all SAs (RFC 4303 3.4.3, after the ICV
 * is verified).
 *
 * A packet left of the window is too old; one whose number was received before, or is 0, is
 * replayed; any other is marked received. A pipeline without stalls: a query every second cycle,
 * all of one SA if need be, answered in order [[AntiReplay.latency]] cycles later. A query touches
 * the SA's highest number ([[ReplayTops]]) and, three stages later, one row of its ring
 * ([[ReplayRing]]); results that are not in a memory yet are forwarded ([[RowForward]]). Both
 * have check bits, so a flipped bit lets no packet in again; `upsets` tells of them.
 *
 * `clear` starts an SA anew in [[AntiReplay.clearCycles]] cycles. `table` is software's access to
 * the rows, in halves (replay_row of regs/rows.rdl), which takes some 10 cycles. A read shows a row
 * without flipped bits, and a write makes it right. Both come while no query is under way. After
 * reset every row is cleared, one a cycle; `ready` is high when that is done. Queries before are an
 * error of the user's.
 *
 * @param topStore a memory for highest numbers, of so many rows of so many bits
 * @param ringStore the same for window rows
 */
class AntiReplay(
    rowBits: Int,
    topStore: (Int, Int) => CodedMemory = new CodedMemory(_, _),
    ringStore: (Int, Int) => ParityMemory = new ParityMemory(_, _, ReplayRing.groupBits)
) extends Module {
  require(rowBits >= 1 && rowBits <= 16, s"a window row's number has 1 to 16 bits, not $rowBits")

  val io = IO(new AntiReplayIO(rowBits))
  import ReplayWindow.{lowBits, mostRows}

  private val rows = 1 << rowBits
  private val tops = Module(new ReplayTops(rowBits, topStore))
  private val ring = Module(new ReplayRing(rowBits, ringStore))
  private val accessLatency = 1 + ReplayTops.accessLatency + 1
  private val access =
    Module(new TableAccess(2 * rows, ReplayRow.bits, rows, writeOnly = false, readLatency = accessLatency))
  access.io.table <> io.table
  access.io.clear := false.B
  io.ready := RegNext(access.io.ready, false.B) // the last write comes a cycle behind

  // Stages 0 and 1: the one row that the number is in. It is read so that it meets the place.
  tops.io.query := io.query
  private val valid = Seq.iterate(io.query.valid, AntiReplay.latency)(RegNext(_, false.B))
  private val rows1 = RegNext(io.query.bits.rows)
  private val number1 = RegNext(
    io.query.bits.sequence(lowBits + 1, lowBits) &
      Cat(ReplayWindow.beyondTwo(io.query.bits.window), ReplayWindow.beyondOne(io.query.bits.window))
  )
  ring.io.read.valid := valid(AntiReplay.ringAt)
  ring.io.read.bits := ShiftRegister(rows1(number1), AntiReplay.ringAt - 1)
  ring.io.place := tops.io.place
  io.verdict := ring.io.verdict
  io.upsets.topRepaired := tops.io.repaired
  io.upsets.topLost := tops.io.lost
  io.upsets.rowFilled := ring.io.filled

  // Software: a row is read; of a write the half that stays is put back with the other.
  private val software = access.io.memory
  private val half = software.bits.index(0)
  private val step = RegInit(0.U((accessLatency + 1).W))
  private val starts = software.valid && !access.io.clearing && step === 0.U
  step := Cat(step(accessLatency - 1, 0), starts && software.bits.write)
  private val commits = step(accessLatency - 1)
  software.ready := access.io.clearing || !software.bits.write || commits
  private val names = (software.bits.index >> 1)(rowBits - 1, 0)
  tops.io.access.valid := RegNext(starts, false.B)
  tops.io.access.bits := names
  ring.io.access.valid := RegNext(starts, false.B)
  ring.io.access.bits := names

  private val read = RegNext(ring.io.state)
  private val top = RegNext(tops.io.top)
  private val halves = read.received.asUInt
  private val halfBits = ReplayRow.received.width
  require(ReplayRow.received.lsb == 0 && ReplayRow.last.lsb == halfBits && ReplayRow.top.lsb == halfBits + 64)
  access.io.data := Cat(top, read.last, Mux(half, halves(2 * halfBits - 1, halfBits), halves(halfBits - 1, 0)))
  private val newHalf = ReplayRow.received(software.bits.row)
  private val merged = Wire(new ReplayState)
  merged.last := ReplayRow.last(software.bits.row)
  merged.received := Mux(half, Cat(newHalf, halves(halfBits - 1, 0)), Cat(halves(2 * halfBits - 1, halfBits), newHalf))
    .asTypeOf(merged.received)

  // Writes from outside the pipeline: zeros after reset and for an SA that starts anew, and
  // software's rows.
  private val clearing = RegInit(0.U(mostRows.W))
  private val cleared = RegEnable(io.clear.bits.rows, io.clear.valid)
  when(io.clear.valid) {
    val two = ReplayWindow.beyondOne(io.clear.bits.window)
    val four = ReplayWindow.beyondTwo(io.clear.bits.window)
    clearing := Cat(four, four, two, true.B)
  }.otherwise(clearing := clearing & (clearing - 1.U))
  private val zero = access.io.clearing || clearing.orR
  private val set = Wire(chiselTypeOf(ring.io.set))
  set.valid := zero || commits
  set.bits.index := Mux(
    access.io.clearing,
    software.bits.index(rowBits - 1, 0),
    Mux(clearing.orR, Mux1H(PriorityEncoderOH(clearing), cleared), names)
  )
  set.bits.data := Mux(zero, 0.U, merged.asUInt)
  ring.io.set := set
  tops.io.set.valid := set.valid
  tops.io.set.bits.index := set.bits.index
  tops.io.set.bits.data := Mux(zero, 0.U, ReplayRow.top(software.bits.row))

  private val busy = valid.reduce(_ || _)
  assert(!(io.query.valid && valid(1)), "anti-replay queries are at least two cycles apart")
  assert(!(software.fire && !software.bits.write && !starts), "a read of a window row while a write is under way")
  assert(!(busy && (set.valid || starts)), "a window is written while queries are under way")
}

object AntiReplay {

  /** Cycles from a query to the read of its window row. */
  private val ringAt: Int = ReplayTops.latency - ReplayRing.accessLatency

  /** Cycles from a query to its verdict. */
  val latency: Int = ringAt + ReplayRing.latency

  /** Cycles from `clear` until all rows of the SA are clear. */
  val clearCycles: Int = ReplayWindow.mostRows + 2
}
