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
 * `row` follows `read` by [[CodedMemory.latency]] cycles: memory, output register, syndrome,
 * repair. It stays until that of the next read. A read may come every cycle. A row that is written
 * in the cycle of its read or later is not seen by that read; in the cycle itself either row may
 * answer. The memory keeps a repaired row as wrong as it was, until the row is written back.
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

  /** The word that the memory answers, a cycle after its read: a test flips bits. */
  protected def answered(word: UInt): UInt = word

  private val memory = SyncReadMem(rows, UInt(code.bits.W))
  when(io.write.valid)(memory.write(io.write.bits.index, encode(io.write.bits.data)))

  private val valid1 = RegNext(io.read.valid, false.B)
  private val valid2 = RegNext(valid1, false.B)
  private val valid3 = RegNext(valid2, false.B)
  private val word2 = RegEnable(answered(memory.read(io.read.bits, io.read.valid)), valid1)
  private val word3 = RegEnable(word2, valid2)
  private val verdict = code.verdict(RegEnable(syndrome(word2), valid2))
  private val row = Wire(new CodedRow(dataBits))
  row.data := word3(dataBits - 1, 0) ^ verdict.flips
  row.repaired := verdict.repaired
  row.spoiled := verdict.spoiled
  io.row := RegEnable(row, valid3)
}

object CodedMemory {

  /** Cycles from a read to its row. */
  val latency: Int = 4
}
