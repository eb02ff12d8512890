// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._
import sallyport.common.memory.{MemoryPipe, RowMemory}
import sallyport.common.registers.map.{Row, RowField}

/**
 * @param rows rows of the four ways together, a power of two, 8 to 2^18
 * @param keyBits the row's low bits that are the key
 * @param rowBits bits of a row
 * @param valid the field of a row that says it is in use
 * @param shortBits the key's low bits that are enough with `short`; 0 if there is no such key
 * @param pipe the registers of the ways' memories
 */
case class CuckooTableParams(
    rows: Int,
    keyBits: Int,
    rowBits: Int,
    valid: RowField,
    shortBits: Int = 0,
    pipe: MemoryPipe = CuckooTable.column
) {
  val rowsPerWay: Int = rows / CuckooHash.ways
  require(isPow2(rows) && rows >= 8, s"a cuckoo table has a power of two of rows, 8 or more, not $rows")
  require(rowsPerWay <= (1 << 16), s"a hash has 16 bits a way, so a table has at most 2^18 rows, not $rows")
  require(valid.width == 1 && valid.lsb >= keyBits && valid.lsb < rowBits, "the valid bit stands above the key")
  require(shortBits >= 0 && shortBits < keyBits, s"a short key is less than the key's $keyBits bits, not $shortBits")

  /**
   * Cycles from `lookup` to `result`: key register, hash, memory, comparison, selection.
   */
  val latency: Int = 2 + pipe.latency + 2

  /** The bits of a key that must always agree. */
  val leastBits: Int = if (shortBits == 0) keyBits else shortBits
}

object CuckooTable {

  /** Of ways of a column: the comparison is behind a register that is not a block's. */
  private[table] val column: MemoryPipe = MemoryPipe(columnRegisters = 2)

  /** [[CuckooTableParams.latency]] of a table whose ways are no more than a column deep. */
  val latency: Int = 7

  /**
   * The first `short` fields of the key are enough, if there are any ([[CuckooTable.short]]).
   *
   * @param table makes the table; a test flips bits of its rows
   * @param banked ways are deeper than a column on a board
   */
  def apply(
      rows: Int,
      row: Row,
      key: Seq[RowField],
      valid: RowField,
      short: Int = 0,
      table: CuckooTableParams => CuckooTable = new CuckooTable(_),
      banked: Boolean = false
  ): CuckooTable = {
    require(key.scanLeft(0)(_ + _.width) == key.map(_.lsb) :+ key.map(_.width).sum, "the key is the row's low bits")
    val keyBits = key.map(_.width).sum
    val shortBits = key.take(short).map(_.width).sum
    val pipe = if (banked) MemoryPipe.banks else column
    val params = CuckooTableParams(rows, keyBits, row.bits, valid, shortBits, pipe)
    require(banked || params.latency == latency)
    val made = Module(table(params))
    if (short == 0) made.short := false.B
    made
  }

  private def shortened(key: UInt, bits: Int, short: Bool): UInt =
    if (bits == key.getWidth) key else Cat(Mux(short, 0.U, key(key.getWidth - 1, bits)), key(bits - 1, 0))
}

/**
 * An exact-match table of four ways: `lookup` is the key, `hit` says that a valid row holds it.
 * Contract: [[TableIO]].
 *
 * Row number for software: way × rowsPerWay + row, with the row of [[CuckooHash]]. Software places
 * and moves rows; it writes the new place before it clears the old one, and while both hold the key
 * the lower way answers. A [[RowMemory]] a way, for lookups and for software.
 *
 * Each row has a bit of even parity. A row with a flipped bit may be of another key than it was, so
 * `upset` says that it was the first that held the key, or that none did while one of the four was
 * wrong: then neither `hit` nor its absence means anything. Two flipped bits of a row are not seen.
 * A row is wrong until software writes it. A row of zeros is valid, as clearing leaves it.
 *
 * With `short` a row is found by the key's low `shortBits` alone, in the place of the key with
 * zeros above them, and `whole` says whether it holds the rest of the key too. No lookup is under
 * way when `short` changes.
 */
class CuckooTable(p: CuckooTableParams) extends Module {
  val latency: Int = p.latency
  val io = IO(new TableIO(p.keyBits, p.rowBits))
  val short = IO(Input(Bool()))

  /** With a hit. */
  val whole = IO(Output(Bool()))

  /** With a result: it may be wrong, for a row that the look-up read has a flipped bit. */
  val upset = IO(Output(Bool()))

  /** With a result: some row that the look-up read has a flipped bit, though another may answer. */
  val rowUpset = IO(Output(Bool()))

  /** The word of a way, its parity above the row, as the memory answers: a test flips bits. */
  protected def answered(way: Int, word: UInt): UInt = word

  private val access = Module(new TableAccess(p.rows, p.rowBits, p.rowsPerWay, false, p.pipe.latency + 1))
  access.io.table <> io.table
  access.io.clear := io.clear
  io.ready := access.io.ready
  private val software = access.io.memory
  private val wayRow = software.bits.index(log2Ceil(p.rowsPerWay) - 1, 0)
  private val (way, place) = (access.io.index >> wayRow.getWidth, access.io.index(wayRow.getWidth - 1, 0))

  private val asked = RegNext(io.lookup.bits)
  private val hashed = Reg(UInt(p.keyBits.W))
  hashed := CuckooTable.shortened(io.lookup.bits, p.leastBits, short)
  private val asks = RegNext(io.lookup.valid && access.io.ready, false.B)
  private val live = RegNext(asks, false.B)

  // All blocks of all ways load `live`. Its inverse, which synthesis does not merge with it,
  // decides about accesses of software.
  private val idle = RegNext(!asks, true.B)
  private val key = ShiftRegister(asked, 1 + p.pipe.latency)

  // The parity of a row takes a cycle, in which its access waits. In the next one the access is
  // still there, so few registers decide about it.
  private val waits = software.valid && !software.ready
  private val changes = RegNext(software.bits.write)
  private val parity = RegNext(software.bits.row.xorR) && !access.io.clearing
  private val written = Cat(parity, software.bits.row)

  private val ways = Seq.tabulate(CuckooHash.ways) { w =>
    val memory = Module(new RowMemory(p.rowsPerWay, p.rowBits + 1, p.pipe, readsBack = true))
    // All blocks load `row`. Its inverse, which synthesis does not merge with it, is compared.
    val hash = CuckooHash.row(w, hashed, p.rowsPerWay)
    val row = RegNext(hash)
    val notRow = RegNext(~hash)
    val settled = RegNext(waits && way === w.U, false.B)
    val takes = settled && (!changes || idle || ~place =/= notRow)
    memory.io.access.valid := access.io.clearing || takes
    memory.io.access.bits.write := access.io.clearing || changes
    memory.io.access.bits.index := wayRow
    memory.io.access.bits.data := written
    // A clearing makes no hit of it, but the blocks need not wait for that.
    memory.io.read.valid := live
    memory.io.read.bits := row
    (takes, memory.io.answer, answered(w, memory.io.row))
  }
  software.ready := access.io.clearing || VecInit(ways.map(_._1)).asUInt.orR
  access.io.data := RegNext(Mux1H(ways.zipWithIndex.map { case ((_, data, _), w) => (way === w.U) -> data.tail(1) }))

  private val compared = ShiftRegister(live && !access.io.clearing, p.pipe.latency, false.B, true.B)
  private val rest = ways.map { case (_, _, row) =>
    if (p.leastBits == p.keyBits) true.B else row(p.keyBits - 1, p.leastBits) === key(p.keyBits - 1, p.leastBits)
  }
  private val hits = ways.zip(rest).map { case ((_, _, row), same) =>
    val found = row(p.leastBits - 1, 0) === key(p.leastBits - 1, 0) && (same || short)
    RegNext(compared && row(p.valid.lsb) && found, false.B)
  }
  private val wholes = rest.map(RegNext(_))
  private val rows = ways.map { case (_, _, word) => RegNext(word.tail(1)) }
  io.result.valid := ShiftRegister(io.lookup.valid, p.latency, false.B, true.B)
  io.result.bits.hit := RegNext(VecInit(hits).asUInt.orR, false.B)
  io.result.bits.row := RegNext(PriorityMux(hits, rows))
  whole := RegNext(PriorityMux(hits, wholes))

  // Even parity; 4 LUT levels behind the output register, as the comparison has.
  private val wrongs = ways.map { case (_, _, word) => RegNext(compared && word.xorR, false.B) }
  private val anyWrong = VecInit(wrongs).asUInt.orR
  upset := RegNext(PriorityMux(hits :+ true.B, wrongs :+ anyWrong), false.B)
  rowUpset := RegNext(anyWrong, false.B)
}
