// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._
import sallyport.common.memory.RowCode
import sallyport.common.registers.map.{Row, RowField}

/**
 * @param rows number of rows, a power of two
 * @param rowBits bits of a row
 * @param valid the field of a row that says it is in use
 * @param writeOnly software cannot read rows (keys)
 * @param gaps bits of a row that are not kept, and answer as 0
 * @param code rows are kept as words of it, whose check bits are an output
 */
case class DirectTableParams(
    rows: Int,
    rowBits: Int,
    valid: RowField,
    writeOnly: Boolean = false,
    gaps: Seq[RowField] = Nil,
    code: Option[RowCode] = None
) {
  require(code.isEmpty || writeOnly, "software that reads rows would not see that a bit is wrong")

  /** A row that software reads has a bit of even parity. */
  val parity: Boolean = !writeOnly

  /** Cycles from `lookup` to `result`. */
  val latency: Int = if (parity) DirectTable.latency else DirectTable.keyLatency
  require(isPow2(rows), s"a direct table has a power of two of rows, not $rows: choose ${1 << log2Ceil(rows)}")
  require(valid.width == 1 && valid.lsb < rowBits, s"no valid bit ${valid.lsb} in a row of $rowBits bits")
}

object DirectTable {

  /**
   * Cycles from `lookup` to `result` where software cannot read: index register, memory, two output
   * registers (for a memory of many blocks).
   */
  val keyLatency: Int = 4

  /** The same where software can: the sum of the parities takes one more. */
  val latency: Int = keyLatency + 1

  /** Bits that one register of the parities sums up, in two LUT levels. */
  private val group: Int = 36

  /** What software can read is all kept, so that a row reads as it was written. */
  def apply(rows: Int, row: Row, valid: RowField): DirectTable =
    Module(new DirectTable(DirectTableParams(rows, row.bits, valid)))
}

/**
 * A table indexed by number: `lookup` is the index, `hit` the row's valid bit. Contract:
 * [[TableIO]].
 *
 * Rows that software can read have a bit of even parity. A row with a flipped bit answers `upset`
 * and no hit until software writes it. Two flipped bits of a row are not seen.
 *
 * One memory of one read port (lookups) and one read/write port (software). `written` pulses in the
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

  private val readLatency = 2
  private val access = Module(new TableAccess(p.rows, p.rowBits, p.rows, p.writeOnly, readLatency))
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

  private val memory = SyncReadMem(p.rows, UInt((keptBits + checkBits).W))
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
  if (p.writeOnly) {
    when(software.ready)(memory.write(software.bits.index, taken))
    access.io.data := 0.U
  } else {
    val writes = access.io.clearing || changes
    val read = memory.readWrite(software.bits.index, taken, software.ready, writes)
    access.io.data := unpacked(RegNext(read))
  }

  private val early = Reg(UInt((keptBits + checkBits).W))
  // A clearing makes no hit of it, but the blocks need not wait for that.
  early := memory.read(index, live)
  private val late = RegNext(early)
  check.foreach(_ := late >> keptBits)
  private val wrong = p.parity.B && RegNext(
    VecInit(early.asBools.grouped(DirectTable.group).map(VecInit(_).asUInt.xorR).toSeq).asUInt
  ).xorR
  private val read = ShiftRegister(live && !access.io.clearing, DirectTable.keyLatency - 1, false.B, true.B)
  private def answer[T <: Data](value: T): T = if (p.parity) RegNext(value) else value
  private val found = unpacked(late)
  io.result.valid := ShiftRegister(io.lookup.valid, p.latency, false.B, true.B)
  io.result.bits.hit := answer(read && found(p.valid.lsb) && !wrong)
  io.result.bits.row := answer(found)
  upset := answer(read && wrong)
}
