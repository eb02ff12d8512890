// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
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

/**
 * Checks and updates the anti-replay windows of all SAs (RFC 4303 3.4.3, after the ICV
 * is verified).
 *
 * A packet left of the window is too old; one whose number was received before, or is 0, is
 * replayed; any other is marked received. A pipeline without stalls: a query every second cycle,
 * all of one SA if need be, answered in order [[AntiReplay.latency]] cycles later. A query touches
 * the SA's highest number ([[ReplayTops]]) and, two stages later, one row of its ring
 * ([[ReplayWindow]]); results that are not in a memory yet are forwarded ([[ReplayMemory]]).
 *
 * `clear` starts an SA anew in [[AntiReplay.clearCycles]] cycles. `table` is software's access to
 * the rows, in halves (replay_row of regs/rows.rdl), which takes some 10 cycles. Both come while no
 * query is under way. After reset every row is cleared, one a cycle; `ready` is high when that is
 * done. Queries before are an error of the user's.
 */
class AntiReplay(rowBits: Int) extends Module {
  require(rowBits >= 1 && rowBits <= 16, s"a window row's number has 1 to 16 bits, not $rowBits")

  val io = IO(new Bundle {
    val query = Flipped(Valid(new ReplayQuery(rowBits)))
    val verdict = Valid(new ReplayWindow.Verdict)
    val clear = Flipped(Valid(new ReplayClear(rowBits)))
    val table = Flipped(new TablePort)
    val ready = Output(Bool())
  })
  import ReplayWindow.{lowBits, mostRows}

  private val rows = 1 << rowBits
  private val tops = Module(new ReplayTops(rowBits))
  private val ring = Module(new ReplayMemory(rowBits, (new ReplayState).getWidth))
  private val access = Module(new TableAccess(2 * rows, ReplayRow.bits, rows, writeOnly = false, readLatency = 5))
  access.io.table <> io.table
  access.io.clear := false.B
  io.ready := RegNext(access.io.ready, false.B) // the last write comes a cycle behind

  // Stages 0 and 1: the one row that the number is in. Stage 2: it is read.
  tops.io.query := io.query
  private val valid = Seq.iterate(io.query.valid, AntiReplay.latency)(RegNext(_, false.B))
  private val rows1 = RegNext(io.query.bits.rows)
  private val number1 = RegNext(
    io.query.bits.sequence(lowBits + 1, lowBits) &
      Cat(ReplayWindow.beyondTwo(io.query.bits.window), ReplayWindow.beyondOne(io.query.bits.window))
  )
  private val row2 = RegNext(rows1(number1))

  // Stage 6: the row as it is meets the place of the number. Stage 7: verdict and new row.
  private val comparison7 = RegNext(ReplayWindow.compare(ring.io.state.asTypeOf(new ReplayState), tops.io.place))
  private val (verdict, state) = ReplayWindow.update(comparison7)
  ring.io.update.valid := valid(7) && !comparison7.place.tooOld
  ring.io.update.bits := state.asUInt
  io.verdict.valid := RegNext(valid(7), false.B)
  io.verdict.bits := RegNext(verdict)

  // Software: a row is read; of a write the half that stays is put back with the other.
  private val software = access.io.memory
  private val half = software.bits.index(0)
  private val step = RegInit(0.U((ReplayMemory.latency + 2).W))
  private val starts = software.valid && !access.io.clearing && step === 0.U
  step := Cat(step(ReplayMemory.latency, 0), starts && software.bits.write)
  private val commits = step(ReplayMemory.latency)
  software.ready := access.io.clearing || !software.bits.write || commits
  private val names = (software.bits.index >> 1)(rowBits - 1, 0)
  tops.io.access.valid := starts
  tops.io.access.bits := names
  ring.io.read.valid := valid(2) || starts
  ring.io.read.bits := Mux(valid(2), row2, names)

  private val read = RegNext(ring.io.state).asTypeOf(new ReplayState)
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
  set.bits.row := Mux(
    access.io.clearing,
    software.bits.index(rowBits - 1, 0),
    Mux(clearing.orR, Mux1H(PriorityEncoderOH(clearing), cleared), names)
  )
  set.bits.state := Mux(zero, 0.U, merged.asUInt)
  ring.io.set := RegNext(set, 0.U.asTypeOf(set))
  tops.io.set.valid := ring.io.set.valid
  tops.io.set.bits.row := ring.io.set.bits.row
  tops.io.set.bits.state := RegNext(Mux(zero, 0.U, ReplayRow.top(software.bits.row)))

  private val busy = valid.reduce(_ || _)
  assert(!(io.query.valid && valid(1)), "anti-replay queries are at least two cycles apart")
  assert(!(software.fire && !software.bits.write && !starts), "a read of a window row while a write is under way")
  assert(!(busy && (set.valid || ring.io.set.valid || starts)), "a window is written while queries are under way")
}

object AntiReplay {

  /** Cycles from a query to its verdict. */
  val latency: Int = ReplayTops.latency + 2

  /** Cycles from `clear` until all rows of the SA are clear. */
  val clearCycles: Int = ReplayWindow.mostRows + 2
}
