// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._
import chisel3.util._

/** A row that a [[ParityMemory]] has read. */
class ParityRow(dataBits: Int, groups: Int) extends Bundle {
  val data = UInt(dataBits.W)

  /** Bit g: group g and its parity bit have an odd number of wrong bits. */
  val wrong = UInt(groups.W)
}

/**
 * A memory whose rows have a bit of even parity for each group of bits, with a port that reads and
 * one that writes. Bit g of the parity bits, which are above the data, is that of group g.
 *
 * `row` follows `read` by [[ParityMemory.latency]] cycles: memory, parities. A read may come every
 * cycle. A row that is written in the cycle of its read or later is not seen by that read. Two
 * wrong bits of a group are not seen at all. The memory keeps a wrong row until it is written.
 *
 * Parities take 3 LUT levels for groups of 64 bits. A row of zeros is valid, so a memory that is
 * cleared needs no parity of its own. Rows mean nothing before they are written.
 */
class ParityMemory(rows: Int, dataBits: Int, groupBits: Int) extends Module {
  require(dataBits % groupBits == 0, s"$dataBits bits are no whole groups of $groupBits")
  val groups: Int = dataBits / groupBits

  val io = IO(new Bundle {
    val read = Flipped(Valid(UInt(log2Ceil(rows).W)))
    val row = Output(new ParityRow(dataBits, groups))
    val write = Flipped(Valid(new MemoryWrite(log2Ceil(rows), dataBits)))
  })

  /** The word that the memory answers: a test flips bits. */
  protected def answered(word: UInt): UInt = word

  private def parities(data: UInt): UInt =
    VecInit.tabulate(groups)(group => data((group + 1) * groupBits - 1, group * groupBits).xorR).asUInt

  private val memory = Module(new RowMemory(rows, dataBits + groups, ParityMemory.pipe))
  memory.io.read := io.read
  memory.write(io.write.valid, io.write.bits.index, parities(io.write.bits.data) ## io.write.bits.data)

  private val word = answered(memory.io.row)
  private val data = word(dataBits - 1, 0)
  io.row.data := RegNext(data)
  io.row.wrong := RegNext(parities(data) ^ word(dataBits + groups - 1, dataBits))
}

object ParityMemory {

  private val pipe = MemoryPipe.banks

  /** Cycles from a read to its row. */
  val latency: Int = pipe.latency + 1
}
