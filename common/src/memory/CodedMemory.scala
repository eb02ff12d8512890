// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._
import chisel3.util._

/** A row that a [[CodedMemory]] has read. */
class CodedRow(dataBits: Int) extends Bundle {
  val data = UInt(dataBits.W)

  /** One bit was wrong in the memory, and is right in `data`. */
  val repaired = Bool()

  /** More bits were wrong than the code repairs; `data` means nothing. */
  val spoiled = Bool()
}

/**
 * A memory whose rows are [[Secded]] words, with a port that reads and one that writes.
 *
 * `row` follows `read` by [[CodedMemory.latency]] cycles: memory, syndrome, repair. It stays until
 * that of the next read. A read may come every cycle. A row that is written in the cycle of its
 * read or later is not seen by that read; in the cycle itself either row may answer. The memory
 * keeps a repaired row as wrong as it was, until the row is written back.
 *
 * Rows mean nothing before they are written.
 */
class CodedMemory(rows: Int, dataBits: Int) extends Module {
  private val indexBits = log2Ceil(rows)
  protected val code: Secded = Secded(dataBits)

  val io = IO(new Bundle {
    val read = Flipped(Valid(UInt(indexBits.W)))
    val row = Output(new CodedRow(dataBits))
    val write = Flipped(Valid(new MemoryWrite(indexBits, dataBits)))
  })

  protected def encode(data: UInt): UInt = code.encode(data)
  protected def syndrome(word: UInt): UInt = code.syndrome(word)

  /** The word that the memory answers: a test flips bits. */
  protected def answered(word: UInt): UInt = word

  private val memory = Module(new RowMemory(rows, code.bits, CodedMemory.pipe))
  memory.io.read := io.read
  memory.write(io.write.valid, io.write.bits.index, encode(io.write.bits.data))

  private val word = answered(memory.io.row)
  private val read = ShiftRegister(io.read.valid, CodedMemory.pipe.latency + 1, false.B, true.B)
  private val verdict = code.verdict(RegNext(syndrome(word)))
  private val row = Wire(new CodedRow(dataBits))
  row.data := RegNext(word(dataBits - 1, 0)) ^ verdict.flips
  row.repaired := verdict.repaired
  row.spoiled := verdict.spoiled
  io.row := RegEnable(row, read)
}

object CodedMemory {

  private val pipe = MemoryPipe.banks

  /** Cycles from a read to its row. */
  val latency: Int = pipe.latency + 2
}
