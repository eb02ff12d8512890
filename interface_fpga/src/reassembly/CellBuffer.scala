// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import ReassemblyConfig._
import sallyport.common.memory.{MemoryPipe, RowMemory}
import sallyport.common.stream.PacketStream

/**
 * The memory of all cells, in eight lanes of 8 bytes, each with an address of its own to write to.
 *
 * A write and a read a cycle; `data` comes [[CellBuffer.latency]] cycles after `read`.
 */
class CellBuffer(p: ReassemblyConfig) extends Module {
  private val rows = p.cells * cellRows

  val io = IO(new Bundle {
    val write = Flipped(Valid(new CellWrite(p)))
    val read = Flipped(Valid(UInt(log2Ceil(rows).W)))
    val data = Output(UInt(PacketStream.dataBits.W))
  })

  private val lanes = Seq.tabulate(beatUnits) { lane =>
    val memory = Module(new RowMemory(rows, 8 * unitBytes, CellBuffer.pipe))
    memory.write(
      io.write.valid && io.write.bits.enable(lane),
      Mux(io.write.bits.wraps(lane), io.write.bits.next, io.write.bits.row),
      io.write.bits.lanes(lane)
    )
    memory.io.read := io.read
    memory.io.row
  }
  io.data := Cat(lanes.reverse)
}

object CellBuffer {

  private val pipe = MemoryPipe.banks

  /** Cycles from a read to its row. */
  val latency: Int = pipe.latency
}
