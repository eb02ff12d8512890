// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import chisel3.util._
import sallyport.common.table.RowAccess

/**
 * The rows of a level, one port for look-ups and one for software. Each answers
 * [[LevelMemory.latency]] cycles later.
 *
 * @param rows a power of two
 * @param bits of a row, its parity included
 */
class LevelMemory(rows: Int, bits: Int) extends Module {
  private val indexBits = log2Ceil(rows)
  val io = IO(new Bundle {
    val lookup = Flipped(Valid(UInt(indexBits.W)))
    val found = Output(UInt(bits.W))
    val access = Flipped(Valid(new RowAccess(indexBits, bits)))
    val data = Output(UInt(bits.W))
  })
  private val memory = SyncReadMem(rows, UInt(bits.W))
  private val access = io.access.bits
  private val read = Wire(UInt(bits.W))
  read := memory.read(io.lookup.bits, io.lookup.valid)
  io.found := RegNext(read)
  io.data := RegNext(memory.readWrite(access.index, access.row, io.access.valid, access.write))
}

object LevelMemory {

  /** Memory and output register. */
  val latency: Int = 2
}
