package sallyport.common

import chisel3._
import chisel3.util._

import sallyport.common.regs.{RowField, RuleRow}

/**
 * Layout of a ternary row: the value to match in the low `keyBits` bits, the result above it, the mask of the value in
 * the `keyBits` bits from `maskLsb`.
 *
 * @param rows number of rules, 2 to 64
 */
case class TernaryTableParams(rows: Int, keyBits: Int, maskLsb: Int, valid: RowField, priority: RowField) {
  val rowBits: Int = maskLsb + keyBits
  require(rows >= 2 && rows <= 64, s"rules stand in registers: 2 to 64 of them, not $rows")
  require(valid.width == 1 && valid.lsb >= keyBits && valid.lsb < maskLsb, "the valid bit stands between key and mask")
  require(priority.lsb >= keyBits && priority.msb < maskLsb, "the priority stands between key and mask")
}

object TernaryTable {

  /** Cycles from `lookup` to `result`: key register, match, order, selection. */
  val latency: Int = 4

  /** The SPD rule table. */
  def apply(rows: Int = 32): TernaryTable = {
    val keyBits = RuleRow.upper.msb + 1
    require(RuleRow.srcMask.lsb + keyBits == RuleRow.bits, "a rule's masks are laid out as its values")
    val p = TernaryTableParams(rows, keyBits, RuleRow.srcMask.lsb, RuleRow.valid, RuleRow.priority)
    Module(new TernaryTable(p))
  }
}

/**
 * A table of rules: of the valid rows with (key & mask) = (value & mask), the one with the lowest priority number
 * answers, at equality the lowest row. Contract: [[TableIO]]; `result.row` has the bits below the mask (`maskLsb`), laid
 * out as the row, with the key's bits zero.
 *
 * Rules stand in registers. Which rule goes before which is worked out when a rule is written and kept as a bit for each
 * pair, so that a lookup needs no comparison of priorities. A write reaches match, order and result registers in three
 * successive cycles, one pipeline stage after the other: every lookup sees the old rule or the new one.
 */
class TernaryTable(p: TernaryTableParams) extends Module {
  private val resultBits = p.maskLsb - p.keyBits
  val io = IO(new TableIO(p.keyBits, p.maskLsb))

  private val access = Module(new TableAccess(p.rows, p.rowBits, p.rows, false, 2))
  access.io.table <> io.table
  access.io.clear := io.clear
  io.ready := access.io.ready
  private val software = access.io.memory
  software.ready := true.B

  // Software's copy, for reading back.
  private val copy = SyncReadMem(p.rows, UInt(p.rowBits.W))
  access.io.data := RegNext(
    copy.readWrite(software.bits.index, software.bits.row, software.fire, software.bits.write)
  )

  // A write, one stage after the other. The row waits one cycle for the comparison of its priority with all others.
  private val write = RegNext(software.fire && software.bits.write, false.B)
  private val row = RegEnable(software.bits.row, software.fire && software.bits.write)
  private val index = RegEnable(software.bits.index, software.fire && software.bits.write)
  private val select = UIntToOH(index, p.rows)
  private val stage = Seq.iterate(write, 4)(RegNext(_, false.B))
  private val selects = Seq.iterate(select, 4)(RegNext(_))
  private val results = Seq.iterate(row(p.maskLsb - 1, p.keyBits), 4)(RegNext(_))
  private val newPriority = row(p.priority.msb, p.priority.lsb)

  private val valid = RegInit(0.U(p.rows.W))
  private val value = Reg(Vec(p.rows, UInt(p.keyBits.W)))
  private val mask = Reg(Vec(p.rows, UInt(p.keyBits.W)))
  private val priority = Reg(Vec(p.rows, UInt(p.priority.width.W)))
  private val before = Reg(Vec(p.rows, UInt(p.rows.W))) // bit j of before(i): rule j goes before rule i
  private val result = Reg(Vec(p.rows, UInt(resultBits.W)))

  private val lowerRows = VecInit(Seq.tabulate(p.rows)(i => ((BigInt(1) << i) - 1).U(p.rows.W)))
  private val less = VecInit(priority.map(_ < newPriority)).asUInt
  private val equal = VecInit(priority.map(_ === newPriority)).asUInt
  // Rules that go before the written one; its own old priority says nothing.
  private val ahead = RegNext((less & ~select) | (equal & lowerRows(index)))

  private val matchRow = RegNext(row)
  when(stage(1)) {
    valid := (valid & ~selects(1)) | Mux(matchRow(p.valid.lsb), selects(1), 0.U)
    for (i <- 0 until p.rows) when(selects(1)(i)) {
      value(i) := matchRow(p.keyBits - 1, 0)
      mask(i) := matchRow(p.rowBits - 1, p.maskLsb)
      priority(i) := matchRow(p.priority.msb, p.priority.lsb)
    }
  }
  private val aheadNext = RegNext(ahead)
  when(stage(2)) {
    for (i <- 0 until p.rows) {
      before(i) := Mux(
        selects(2)(i),
        aheadNext,
        (before(i) & ~selects(2)) | Mux(aheadNext(i), 0.U, selects(2))
      )
    }
  }
  when(stage(3)) {
    for (i <- 0 until p.rows) when(selects(3)(i)) { result(i) := results(3) }
  }
  when(access.io.clearing) { valid := 0.U }

  private val key = RegNext(io.lookup.bits)
  private val live = RegNext(io.lookup.valid && access.io.ready, false.B)
  private val matches = RegNext(
    VecInit.tabulate(p.rows)(i => valid(i) && ((key ^ value(i)) & mask(i)) === 0.U && live).asUInt
  )
  private val wins = RegNext(VecInit.tabulate(p.rows)(i => matches(i) && (matches & before(i)) === 0.U).asUInt)
  io.result.valid := ShiftRegister(io.lookup.valid, TernaryTable.latency, false.B, true.B)
  io.result.bits.hit := RegNext(wins.orR, false.B)
  io.result.bits.row := Cat(RegNext(Mux1H(wins, result)), 0.U(p.keyBits.W))
}
