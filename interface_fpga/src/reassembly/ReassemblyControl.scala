// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import ReassemblyConfig._
import sallyport.iface.headers.Ecn

/** States of [[ReassemblyControl]]. */
private[iface] object ControlState extends ChiselEnum {
  val idle, look1, look2, look3, decide, walk, drain1, drain2, drain3, commit, expire1, expire2, expire = Value
}

/**
 * Judges fragments one after the other: finds or makes the datagram's record, gives it cells, sees
 * whether it is whole.
 *
 * 9 cycles and one for each cell that the fragment touches. Rules, in this order:
 *  - a fragment of a wrong length, and a first one without all headers, is dropped alone
 *    (`length`, `headers`);
 *  - a datagram whose time is over is dropped before anything is added to it (`timeout`);
 *  - a new datagram of a source that has as many as it may is refused (`source`);
 *  - where room is missing, the oldest datagram gives way (`full`): for a new datagram in a full
 *    table, and for any fragment while fewer cells are free than the longest packet needs. If all
 *    places of a new datagram's hashes are taken, one of those gives way. The fragment waits for it
 *    some 15 cycles;
 *  - an exact duplicate, which fills the bytes of one fragment that came before, is dropped alone
 *    (`duplicate`); its ECN field and its bytes are not looked at;
 *  - an error kills the datagram (`oversize`, `memory`, `end`, `ecn`, `overlap`): all its fragments
 *    so far are dropped and its place is free. Those still to come begin a new datagram.
 *
 * ECN (RFC 3168 5.3): CE on any fragment is CE on the datagram, but where a fragment is Not-ECT and
 * another one is not, the datagram is dropped (`ecn`), which the RFC allows and Linux does
 * (ip_frag_ecn_table). Of ECT(0) and ECT(1) alone the first fragment's stays.
 *
 * A datagram in one fragment (RFC 6946) has no record.
 *
 * `verdict` is a pulse, one for each `plan`, in order. Waits for `release` alone, which takes a
 * datagram's cells back when it dies.
 */
class ReassemblyControl(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val ready = Output(Bool())
    val limits = Input(new ReassemblyLimits(p))
    val tick = Input(Bool())

    /** From registers; stays as it is until it is taken. */
    val plan = Flipped(Decoupled(new FragmentPlan(p)))
    val verdict = Valid(new FragmentVerdict(p))
    val cell = Flipped(Decoupled(UInt(p.cellBits.W)))

    /** Fewer cells are free than the longest packet needs. */
    val low = Input(Bool())
    val release = Decoupled(new CellList(p))
    val dropped = Valid(new DroppedFragments)

    /** A datagram is whole: its fragments but one. */
    val merged = Valid(UInt(ReassemblyEvents.frameBits.W))

    /** With it a fragment is held, until its datagram `leaves`. */
    val stays = Output(Bool())

    /** A datagram with so many held fragments leaves: whole, or dropped. */
    val leaves = Valid(UInt(ReassemblyEvents.frameBits.W))

    /** There are datagrams. */
    val busy = Output(Bool())
  })
  import ControlState._

  private val plan = io.plan.bits
  private val table = Module(new DatagramTable(p))
  private val sweep = Module(new ExpirySweep(p))
  private val sources = Module(new SourceLimit(p))
  private val map = Module(new CellMap(p))
  private val ages = Module(new AgeList(ways * p.tableRows))
  private val update = Module(new DatagramUpdate(p))
  private val ready = RegNext(table.io.ready && sources.io.ready, false.B)
  io.ready := ready

  private val state = RegInit(idle)
  private val now = RegInit(0.U(p.tickBits.W))
  when(io.tick) { now := now + 1.U }
  private val live = RegInit(0.U(p.datagramBits.W))
  private val full = RegNext(live >= p.datagrams.U)
  private val any = RegNext(live =/= 0.U, false.B)
  io.busy := any

  // The record to look up: for a fragment, for the sweep, or the oldest one, which gives way.
  private val evicts = RegInit(false.B)
  private val free = state === idle && ready && io.enable
  private val aims = free && (evicts || sweep.io.request.valid)
  private val offered = free && !evicts && !sweep.io.request.valid && io.plan.valid
  private val bad = plan.badLength || plan.badHeaders
  private val looksUp = offered && !bad
  private val aimed = RegInit(false.B)
  when(state === idle) { aimed := aims }
  when(aims || looksUp) { state := look1 }
  private val oldestRow = ages.io.oldest(p.rowBits - 1, 0)
  private val aimedRow = Mux(evicts, oldestRow, sweep.io.row)
  when(state === look1) { state := look2 }
  when(state === look2) { state := look3 }
  when(state === look3) { state := decide }

  table.io.read.valid := aims || looksUp || sweep.io.read
  table.io.read.bits := Mux(looksUp, plan.rows, VecInit.fill(ways)(Mux(aims, aimedRow, sweep.io.row)))
  table.io.key := plan.key
  table.io.pick.valid := aimed
  table.io.pick.bits := Mux(evicts, UIntToOH(ages.io.oldest >> p.rowBits, ways), sweep.io.request.bits.way)
  table.io.now := now
  table.io.timeout := io.limits.timeout
  sweep.io.tick := io.tick
  sweep.io.any := any
  sweep.io.grant := state =/= idle && state =/= commit && state =/= expire || state === idle && !io.plan.valid
  sweep.io.expired := table.io.expired
  sources.io.limit := io.limits.perSource

  // The look-up's answer.
  private val answer = table.io.answer
  private val record = Reg(new DatagramRecord(p))
  private val fresh = Reg(Bool())
  private val way = Reg(UInt(ways.W))
  private val row = Reg(UInt(p.rowBits.W))
  private val page = Reg(UInt(p.pageBits.W))

  /** The record makes room; else its time is over. */
  private val yields = Reg(Bool())

  /** Why the datagram dies, whatever the map of its cells says. */
  private val cut = Reg(Valid(FragmentDrop()))
  private val hit = answer.hit && !plan.atomic
  private val expired = Mux(aimed, evicts || answer.expired, hit && answer.expired)
  private val begins = !aimed && !hit && !plan.atomic
  private val limited = begins && sources.io.full
  private val lacks = !aimed && !plan.tooLong && any && (begins && full || io.low)
  private val crowded = begins && !plan.tooLong && answer.crowded
  map.io.clear := state === decide
  when(state === decide) {
    record := answer.record
    when(!aimed && !hit && !crowded) {
      record.fragments := 0.U
      record.units := 0.U
      record.reach := 0.U
      record.ended := false.B
      record.ecn := 0.U
      record.pages.held := 0.U
      record.born := now
    }
    fresh := !hit
    way := answer.way
    row := Mux(aimed, aimedRow, Mux1H(answer.way, plan.rows))
    yields := evicts || crowded
    page := plan.firstPage
    cut.valid := plan.tooLong
    cut.bits := FragmentDrop.oversize
    state := MuxCase(
      walk,
      Seq(
        expired -> expire1,
        (aimed || limited || lacks) -> idle,
        crowded -> expire1,
        plan.tooLong -> drain1
      )
    )
    when(!aimed) { evicts := lacks && !expired && !limited }
  }
  private val dropsNow = state === decide && limited

  // Its cells: one a cycle, a free one where it has none yet.
  private val present = record.pages.held(page)
  private val walks = state === walk
  private val stuck = !present && !io.cell.valid
  io.cell.ready := walks && !present
  map.io.step.valid := walks && !stuck
  map.io.step.bits.cell := Mux(present, record.pages.cells(page), io.cell.bits)
  map.io.step.bits.fresh := !present
  map.io.step.bits.from := Mux(page === plan.firstPage, plan.from(log2Ceil(cellUnits) - 1, 0), 0.U)
  map.io.step.bits.to := Mux(page === plan.lastPage, plan.to(log2Ceil(cellUnits) - 1, 0), (cellUnits - 1).U)
  map.io.step.bits.begins := page === plan.firstPage
  map.io.step.bits.ends := page === plan.lastPage
  when(walks) {
    when(!present && io.cell.valid) {
      record.pages.held := record.pages.held | UIntToOH(page, p.pages)
      record.pages.cells(page) := io.cell.bits
    }
    page := page + 1.U
    when(stuck) {
      cut.valid := true.B
      cut.bits := FragmentDrop.memory
    }
    when(stuck || page === plan.lastPage) { state := drain1 }
  }
  update.io.record := record
  update.io.plan := plan
  private val growth = update.io.growth
  when(state === drain1) { state := drain2 }
  when(state === drain2) { state := drain3 }
  when(state === drain3) {
    state := commit
    when(!cut.valid && growth.badEnd) {
      cut.valid := true.B
      cut.bits := FragmentDrop.end
    }
  }

  // What becomes of it.
  private val fate = FragmentFate(cut, map.io.overlap, map.io.differs, growth)
  import fate.{completes, duplicate, kills}
  private val gives = record.pages.held.orR && (state === expire || state === commit && kills)
  private val done = !gives || io.release.ready
  private val commits = state === commit && done
  private val expires = state === expire && done
  io.release.valid := gives
  io.release.bits := record.pages
  when(state === expire1) { state := expire2 }
  when(state === expire2) { state := expire }
  when(commits || expires) { state := idle }
  when(expires) { evicts := false.B }
  sweep.io.done := aimed && !evicts && (expires || state === decide && !expired)
  io.plan.ready := dropsNow || commits || offered && bad

  private val stays = commits && !plan.atomic && !kills && !duplicate && !completes
  private val appears = stays && fresh
  private val leaves = expires || commits && !fresh && (kills || completes)
  table.io.write.valid := stays || leaves
  table.io.write.bits.ways := way
  table.io.write.bits.row := row
  private val written = table.io.write.bits.record
  written := record
  written.valid := stays
  written.key := plan.key
  written.sourceIndex := plan.sourceIndex
  written.fragments := growth.fragments
  written.units := growth.units
  written.reach := growth.reach
  written.ended := growth.ended
  written.endBytes := growth.endBytes
  written.notes := growth.notes
  written.ecn := growth.ecn

  when(appears || leaves) { live := Mux(appears, live + 1.U, live - 1.U) }
  ages.io.place := Cat(OHToUInt(way), row)
  ages.io.read := state === drain1 || state === expire1
  ages.io.take := appears
  ages.io.leave := leaves
  sources.io.read.valid := looksUp || state === expire1
  sources.io.read.bits := Mux(state === expire1, record.sourceIndex, plan.sourceIndex)
  sources.io.write.valid := appears || leaves
  sources.io.write.bits.index := Mux(state === expire, record.sourceIndex, plan.sourceIndex)
  sources.io.write.bits.count := Mux(leaves, sources.io.count - 1.U, sources.io.count + 1.U)

  private val verdict = Reg(new FragmentVerdict(p))
  verdict.accept := commits && !kills && !duplicate
  verdict.layout := plan.layout
  verdict.complete := completes
  verdict.replay.pages := record.pages
  verdict.replay.ipv6 := plan.ipv6
  verdict.replay.endBytes := growth.endBytes
  verdict.replay.notes := growth.notes
  verdict.replay.congested := Ecn.congested(growth.ecn)
  verdict.replay.summedBytes := growth.summedBytes
  io.verdict.bits := verdict
  io.verdict.valid := RegNext(io.plan.fire, false.B)

  private val dropped = Reg(new DroppedFragments)
  dropped.frames := Mux(state === commit && kills, growth.fragments, Mux(state === expire, record.fragments, 1.U))
  dropped.reason := MuxCase(
    Mux(plan.badLength, FragmentDrop.length, FragmentDrop.headers).asUInt,
    Seq(
      (state === commit) -> fate.reason.asUInt,
      (state === expire) -> Mux(yields, FragmentDrop.full, FragmentDrop.timeout).asUInt,
      (state === decide) -> FragmentDrop.source.asUInt
    )
  )
  io.dropped.bits := dropped
  io.dropped.valid := RegNext(
    commits && (kills || duplicate) || expires || dropsNow || offered && bad,
    false.B
  )
  io.merged.valid := RegNext(commits && completes, false.B)
  io.merged.bits := RegNext(growth.fragments - 1.U)
  io.stays := RegNext(stays, false.B)
  io.leaves.valid := RegNext(leaves, false.B)
  io.leaves.bits := RegNext(record.fragments)
}
