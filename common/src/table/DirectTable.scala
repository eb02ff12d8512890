// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._
import sallyport.common.memory.Secded
import sallyport.common.registers.map.{Row, RowField}

/**
 * @param rows number of rows, a power of two
 * @param rowBits bits of a row
 * @param valid the field of a row that says it is in use
 * @param writeOnly software cannot read rows (keys)
 * @param gaps bits of a row that are not kept, and answer as 0
 * @param coded rows are kept as words of [[Secded]], whose check bits are an output
 */
case class DirectTableParams(
    rows: Int,
    rowBits: Int,
    valid: RowField,
    writeOnly: Boolean = false,
    gaps: Seq[RowField] = Nil,
    coded: Boolean = false
) {
  require(!coded || writeOnly, "software that reads rows would not see that a bit is wrong")
  require(isPow2(rows), s"a direct table has a power of two of rows, not $rows: choose ${1 << log2Ceil(rows)}")
  require(gaps.sliding(2).forall(g => g.size < 2 || g.head.msb < g.last.lsb), "gaps of a row in ascending order, apart")
  require(valid.width == 1 && valid.lsb < rowBits, s"no valid bit ${valid.lsb} in a row of $rowBits bits")
}

object DirectTable {

  /**
   * Cycles from `lookup` to `result`: index register, memory, two output registers (for a memory
   * of many blocks).
   */
  val latency: Int = 4

  /** What software can read is all kept, so that a row reads as it was written. */
  def apply(rows: Int, row: Row, valid: RowField): DirectTable =
    Module(new DirectTable(DirectTableParams(rows, row.bits, valid)))
}

/**
 * A table indexed by number: `lookup` is the index, `hit` the row's valid bit. Contract:
 * [[TableIO]].
 *
 * One memory of one read port (lookups) and one read/write port (software). `written` pulses in the
 * cycle in which the memory takes a row that software wrote, so that a state kept beside the row
 * can start anew. A lookup presented before the pulse answers with the old row, one presented with
 * it or later with the new one.
 */
class DirectTable(p: DirectTableParams) extends Module {
  private val indexBits = log2Ceil(p.rows)
  val io = IO(new TableIO(indexBits, p.rowBits))
  val written = IO(Output(Valid(UInt(indexBits.W))))
  private val code = Option.when(p.coded)(Secded(p.rowBits))
  private val checkBits = code.fold(0)(_.checkBits)

  /** Of a coded table: the check bits of `result`'s row, as they are in the memory. */
  val check = code.map(code => IO(Output(UInt(code.checkBits.W))))

  private val readLatency = 2
  private val access = Module(new TableAccess(p.rows, p.rowBits, p.rows, p.writeOnly, readLatency))
  access.io.table <> io.table
  access.io.clear := io.clear
  io.ready := access.io.ready

  private val kept = p.gaps.map(_.msb + 1).prepended(0).zip(p.gaps.map(_.lsb).appended(p.rowBits)).collect {
    case (start, end) if end > start => RowField(start, end - start)
  }
  private def packed(row: UInt): UInt = Cat(kept.map(_(row)).reverse)
  private def unpacked(bits: UInt): UInt =
    kept.zip(kept.scanLeft(0)(_ + _.width)).map { case (part, at) =>
      (bits(at + part.width - 1, at) << part.lsb).pad(p.rowBits)
    }.reduce(_ | _)

  /**
   * The row, with its check bits above it, that the memory holds after `word` was written to row
   * `index`: a test flips bits.
   */
  protected def stored(index: UInt, word: UInt): UInt = word

  private val memory = SyncReadMem(p.rows, UInt((kept.map(_.width).sum + checkBits).W))
  private val index = RegNext(io.lookup.bits)
  private val live = RegNext(io.lookup.valid && access.io.ready, false.B)
  private val reads = live && !access.io.clearing

  private val software = access.io.memory
  // Compared a cycle ahead, so an access waits until its index has been there for one, and for two
  // with check bits to make. The writes of a clearing are no such cycles: they have other rows.
  // There are no reads while it clears.
  private val collides = RegNext(io.lookup.bits === access.io.index)
  private val settled =
    ShiftRegister(software.valid && !access.io.clearing, if (p.coded) 2 else 1, false.B, true.B)
  software.ready := access.io.clearing || settled && !(reads && software.bits.write && collides)
  written.valid := software.fire && !access.io.clearing && software.bits.write
  written.bits := access.io.index
  if (p.writeOnly) {
    // Check bits take two cycles, in which the access waits; those of a row of zeros are zeros.
    val row = unpacked(packed(software.bits.row))
    val word = Wire(UInt((p.rowBits + checkBits).W))
    word := code.fold(row) { code =>
      val sums = RegNext(VecInit(code.parts(row).map(RegNext(_, 0.U)).map(_.xorR)).asUInt, 0.U)
      Mux(access.io.clearing, 0.U, sums) ## row
    }
    val held = stored(software.bits.index, word)
    when(software.fire) {
      memory.write(software.bits.index, if (p.coded) (held >> p.rowBits) ## packed(held) else packed(held))
    }
    access.io.data := 0.U
  } else {
    access.io.data := unpacked(
      RegNext(memory.readWrite(software.bits.index, packed(software.bits.row), software.fire, software.bits.write))
    )
  }

  private val answered = RegNext(RegNext(memory.read(index, reads)))
  check.foreach(_ := answered >> kept.map(_.width).sum)
  private val answer = unpacked(answered)
  io.result.valid := ShiftRegister(io.lookup.valid, DirectTable.latency, false.B, true.B)
  io.result.bits.hit := ShiftRegister(reads, DirectTable.latency - 1, false.B, true.B) && answer(p.valid.lsb)
  io.result.bits.row := answer
}
