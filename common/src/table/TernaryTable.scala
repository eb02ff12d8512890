// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._
import sallyport.common.clock.PipeClock
import sallyport.common.registers.map.{RowField, RuleRow}

/**
 * Layout of a ternary row: the value to match in the low `keyBits` bits, the result above it, the
 * mask of the value in the `keyBits` bits from `maskLsb`.
 *
 * @param rows number of rules, a power of two, 8 to 1024
 */
case class TernaryTableParams(rows: Int, keyBits: Int, maskLsb: Int, valid: RowField) {
  require(isPow2(rows) && rows >= 8 && rows <= 1024, s"a rule table has a power of two of rows, 8 to 1024, not $rows")
  require(valid.width == 1 && valid.lsb >= keyBits && valid.lsb < maskLsb, "the valid bit stands between key and mask")

  val rowBits: Int = maskLsb + keyBits
  val indexBits: Int = log2Ceil(rows)

  /** Many rules need a register more behind their memories. */
  val large: Boolean = rows > 64

  /** Cycles from `lookup` to `result`. */
  val latency: Int = RuleMatch.latency(this) + FirstMatch.latency(this) + (if (large) 2 else 1)
}

object TernaryTable {

  /** A table of SPD rules that `table` makes; a test flips bits of it. */
  def apply(rows: Int, table: TernaryTableParams => TernaryTable = new TernaryTable(_)): TernaryTable =
    Module(table(params(rows)))

  /** Cycles from `lookup` to `result` of such a table. */
  def latency(rows: Int): Int = params(rows).latency

  private def params(rows: Int): TernaryTableParams = {
    val keyBits = RuleRow.network.msb + 1
    require(RuleRow.srcMask.lsb + keyBits == RuleRow.bits, "a rule's masks are laid out as its values")
    TernaryTableParams(rows, keyBits, RuleRow.srcMask.lsb, RuleRow.valid)
  }
}

/**
 * A table of rules: of the valid rows with (key & mask) = (value & mask), the lowest answers.
 * Contract: [[TableIO]], with a latency of [[TernaryTableParams.latency]]; `result.row` has the
 * bits below the mask (`maskLsb`), laid out as the row, with the key's bits zero.
 *
 * [[RuleMatch]] says which rows match, [[FirstMatch]] which is the first; the results stand in a
 * memory of their own. A row that becomes valid, or whose value or mask changes, matches nothing
 * until it is written ([[RuleWriter]]: a cycle without a lookup for each of the 64 addresses of a
 * memory). So software that changes a rule under traffic writes it to another row first. A change
 * of the result alone is seen whole from one lookup to the next. The clock of the whole table stops
 * while there is no look-up and no access of software.
 *
 * `upset` says that a flipped bit of a memory may have changed the result: the first row that
 * matches has a wrong result, or it or a row before it is in a group whose words are wrong. Then
 * neither `hit` nor its absence means anything. The table mends such words from software's copies
 * within some 300 cycles. A wrong result, or copy, stays until software writes its row.
 *
 * @param matcher makes the memories that match; a test flips their bits
 * @param copies makes the memory of software's rows; likewise
 */
class TernaryTable(
    p: TernaryTableParams,
    matcher: TernaryTableParams => RuleMatch = new RuleMatch(_),
    copies: TernaryTableParams => RuleWriter = new RuleWriter(_)
) extends Module {
  val latency: Int = p.latency
  val io = IO(new TableIO(p.keyBits, p.maskLsb))

  /** With a result: it may be wrong. */
  val upset = IO(Output(Bool()))

  /** With a result: the look-up met a flipped bit, whatever it changes. */
  val rowUpset = IO(Output(Bool()))

  /** A result with its parity above it, as the memory answers: a test flips bits. */
  protected def answered(word: UInt): UInt = word

  private val software = Wire(Bool())
  private val running = Wire(Clock())
  override protected def implicitClock: Clock = running
  private val valids = PipeClock.drive(running, clock, io.lookup.valid, awake = software, latency)

  private val access = Module(new TableAccess(p.rows, p.rowBits, p.rows, false, 2))
  access.io.table <> io.table
  access.io.clear := io.clear
  io.ready := access.io.ready

  private val writer = Module(copies(p))
  software := writer.io.busy || access.io.busy || io.table.request.valid || io.clear
  writer.io.software <> access.io.memory
  writer.io.clearing := access.io.clearing
  access.io.data := writer.io.data

  private val rules = Module(matcher(p))
  rules.io.key.valid := io.lookup.valid && access.io.ready
  rules.io.key.bits := io.lookup.bits
  rules.io.column <> writer.io.column
  rules.io.valid := writer.io.valid
  private val doubted = RegNext(VecInit(rules.io.doubts.map(_.orR)).asUInt, 0.U)
  writer.io.doubted := doubted

  private val first = Module(new FirstMatch(p))
  first.io.matches := rules.io.matches
  first.io.doubts := rules.io.doubts

  private val resultBits = p.maskLsb - p.keyBits
  private val results = SyncReadMem(p.rows, UInt((resultBits + 1).W))
  writer.io.result.ready := !first.io.index.valid
  when(writer.io.result.fire)(results.write(writer.io.result.bits.index, writer.io.result.bits.word))
  private val more = if (p.large) 1 else 0
  private val read = results.read(first.io.index.bits, first.io.index.valid)
  private val result = ShiftRegister(answered(read), more)
  io.result.valid := valids.last
  io.result.bits.hit := ShiftRegister(first.io.index.valid, 1 + more, false.B, true.B)
  io.result.bits.row := Cat(result(resultBits - 1, 0), 0.U(p.keyBits.W))
  private val resultWrong = io.result.bits.hit && result.xorR
  upset := ShiftRegister(first.io.upset, 1 + more, false.B, true.B) || resultWrong
  private val doubts = ShiftRegister(doubted.orR, latency - RuleMatch.latency(p) - 1, false.B, true.B)
  rowUpset := io.result.valid && (doubts || resultWrong)
}
