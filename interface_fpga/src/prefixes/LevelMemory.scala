// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import chisel3.util._
import sallyport.common.table.RowAccess

/**
 * The rows of a level. Software reads by the port of the look-ups, in cycles without one: with a
 * port of its own a block RAM would have half the width.
 *
 * @param rows a power of two
 * @param bits of a row, its parity included
 */
class LevelMemory(rows: Int, bits: Int) extends Module {
  private val indexBits = log2Ceil(rows)
  val io = IO(new Bundle {
    val lookup = Flipped(Valid(UInt(indexBits.W)))

    /** Comes without a look-up, or writes. */
    val access = Flipped(Valid(new RowAccess(indexBits, bits)))

    /** [[LevelMemory.latency]] cycles after a look-up or a read. */
    val found = Output(UInt(bits.W))
  })
  private val memory = SyncReadMem(rows, UInt(bits.W))
  private val access = io.access.bits
  when(io.access.valid && access.write)(memory.write(access.index, access.row))
  private val index = Mux(io.lookup.valid, io.lookup.bits, access.index)
  private val read = Wire(UInt(bits.W))
  read := memory.read(index, io.lookup.valid || io.access.valid && !access.write)
  io.found := RegNext(read)
}

object LevelMemory {

  /** Memory and output register. */
  val latency: Int = 2
}
