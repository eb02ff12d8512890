// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._
import sallyport.common.memory.{MemoryPipe, RowCode, RowMemory}
import sallyport.common.registers.map.{Row, RowField}

/**
 * @param rows number of rows, a power of two
 * @param rowBits bits of a row
 * @param valid the field of a row that says it is in use
 * @param writeOnly software cannot read rows (keys)
 * @param gaps bits of a row that are not kept, and answer as 0
 * @param code rows are kept as words of it, whose check bits are an output
 * @param pipe the registers of the memory
 */
case class DirectTableParams(
    rows: Int,
    rowBits: Int,
    valid: RowField,
    writeOnly: Boolean = false,
    gaps: Seq[RowField] = Nil,
    code: Option[RowCode] = None,
    pipe: MemoryPipe = MemoryPipe.column
) {
  require(code.isEmpty || writeOnly, "software that reads rows would not see that a bit is wrong")

  /** A row that software reads has a bit of even parity. */
  val parity: Boolean = !writeOnly

  /** Cycles from `lookup` to `result`: index register, memory, and the sum of the parities. */
  val latency: Int = 1 + pipe.latency + (if (parity) 2 else 0)
  require(isPow2(rows), s"a direct table has a power of two of rows, not $rows: choose ${1 << log2Ceil(rows)}")
  require(valid.width == 1 && valid.lsb < rowBits, s"no valid bit ${valid.lsb} in a row of $rowBits bits")
}

object DirectTable {

  /** [[DirectTableParams.latency]] of a table that [[apply]] makes. */
  val latency: Int = 5

  /** The same of one for each SA, whose memory has banks. */
  val bankedLatency: Int = 8

  /** Bits that one register of the parities sums up, in two LUT levels. */
  private val group: Int = 36

  /** What software can read is all kept, so that a row reads as it was written. */
  def apply(rows: Int, row: Row, valid: RowField): DirectTable = make(rows, row, valid, MemoryPipe.column, latency)

  /** The same as deep as the SAs are many. */
  def banked(rows: Int, row: Row, valid: RowField): DirectTable =
    make(rows, row, valid, MemoryPipe.banks, bankedLatency)

  private def make(rows: Int, row: Row, valid: RowField, pipe: MemoryPipe, latency: Int): DirectTable = {
    val params = DirectTableParams(rows, row.bits, valid, pipe = pipe)
    require(params.latency == latency)
    Module(new DirectTable(params))
  }
}

/**
 * A table indexed by number: `lookup` is the index, `hit` the row's valid bit. Contract:
 * [[TableIO]].
 *
 * Rows that software can read have a bit of even parity. A row with a flipped bit answers `upset`
 * and no hit until software writes it. Two flipped bits of a row are not seen.
 *
 * A [[RowMemory]] for lookups and for software. `written` pulses in the
 * cycle in which the memory takes a row that software wrote, so that a state kept beside the row
 * can start anew. A lookup presented before the pulse answers with the old row, one presented with
 * it or later with the new one.
 */
class DirectTable(p: DirectTableParams) extends Module {
  private val indexBits = log2Ceil(p.rows)
  val latency: Int = p.latency
  val io = IO(new TableIO(indexBits, p.rowBits))
  val written = IO(Output(Valid(UInt(indexBits.W))))
  private val checkBits = p.code.fold(if (p.parity) 1 else 0)(_.checkBits)

  /** Of a coded table: the check bits of `result`'s row, as they are in the memory. */
  val check = p.code.map(code => IO(Output(UInt(code.checkBits.W))))

  /** With a result: the row has a flipped bit. Low where software cannot read rows. */
  val upset = IO(Output(Bool()))

  /** With it all banks of a table that software cannot read are read: [[RowMemory]]. */
  val every = Option.when(p.writeOnly)(IO(Input(Bool())))

  private val access = Module(new TableAccess(p.rows, p.rowBits, p.rows, p.writeOnly, p.pipe.latency))
  access.io.table <> io.table
  access.io.clear := io.clear
  io.ready := access.io.ready

  private val packing = PackedRow(p.rowBits, p.gaps)
  private val keptBits = packing.bits
  private def packed(row: UInt): UInt = packing.pack(row)
  private def unpacked(bits: UInt): UInt = packing.unpack(bits)

  /**
   * The row, with its check bits above it, that the memory holds after `word` was written to row
   * `index`: a test flips bits.
   */
  protected def stored(index: UInt, word: UInt): UInt = word

  private val memory =
    Module(new RowMemory(p.rows, keptBits + checkBits, p.pipe, readsBack = !p.writeOnly, scrubs = p.writeOnly))
  private val index = RegNext(io.lookup.bits)
  private val live = RegNext(io.lookup.valid && access.io.ready, false.B)

  private val software = access.io.memory
  // Compared a cycle ahead, so an access waits until its index has been there for one, and for two
  // with check bits to make. The writes of a clearing are no such cycles: they have other rows.
  // An access that has settled is still there, so one LUT behind registers decides about it.
  private val waits = software.valid && !software.ready
  private val settled = Seq.iterate(waits, if (p.code.isDefined) 3 else 2)(s => RegNext(s && waits, false.B)).last
  private val changes = RegNext(software.bits.write)
  private val collides = RegNext(io.lookup.bits === access.io.index)
  private val takes = settled && !(changes && live && collides)
  software.ready := access.io.clearing || takes
  written.valid := takes && changes && !access.io.clearing
  written.bits := access.io.index

  // Check bits take one cycle or two, in which the access waits; those of a row of zeros are zeros.
  private val row = unpacked(packed(software.bits.row))
  private val sums = p.code match {
    case Some(code) => RegNext(VecInit(code.parts(row).map(RegNext(_, 0.U)).map(_.xorR)).asUInt, 0.U)
    case None if p.parity => RegNext(row.xorR, false.B)
    case None => 0.U(0.W)
  }
  private val word = Wire(UInt((p.rowBits + checkBits).W))
  word := Mux(access.io.clearing, 0.U(checkBits.W), sums) ## row
  private val held = stored(software.bits.index, word)
  private val taken = if (checkBits > 0) (held >> p.rowBits) ## packed(held) else packed(held)
  memory.io.access.valid := software.ready
  memory.io.access.bits.write := access.io.clearing || changes
  memory.io.access.bits.index := software.bits.index
  memory.io.access.bits.data := taken
  access.io.data := unpacked(memory.io.answer)

  // A clearing makes no hit of it, but the blocks need not wait for that.
  memory.io.read.valid := live || every.getOrElse(false.B)
  memory.io.read.bits := index
  memory.every.foreach(_ := every.get)
  check.foreach(_ := memory.io.row >> keptBits)
  private val read =
    ShiftRegister(live && !access.io.clearing, p.pipe.latency + (if (p.parity) 1 else 0), false.B, true.B)
  private def parities(word: UInt): UInt =
    VecInit(word.asBools.grouped(DirectTable.group).map(VecInit(_).asUInt.xorR).toSeq).asUInt
  private val wrong = p.parity.B && RegNext(parities(memory.io.row)).xorR
  private def later[T <: Data](value: T): T = if (p.parity) RegNext(value) else value
  private val found = unpacked(later(memory.io.row))
  io.result.valid := ShiftRegister(io.lookup.valid, p.latency, false.B, true.B)
  io.result.bits.hit := later(read && found(p.valid.lsb) && !wrong)
  io.result.bits.row := later(found)
  upset := later(read && wrong)
}
