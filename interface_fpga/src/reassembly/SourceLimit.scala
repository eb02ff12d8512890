// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._

/** A counter of [[SourceLimit]] to be written. */
class SourceWrite(p: ReassemblyConfig) extends Bundle {
  val index = UInt(p.sourceBits.W)
  val count = UInt(p.datagramBits.W)
}

/**
 * Datagrams under reassembly by source, which is an IPv4 address or an IPv6 /64. A counter stands
 * for all sources of one hash: those share a limit, no source ever has more than it.
 *
 * `count` and `full` hold from 2 and 3 cycles after `read` until the next one. Reset clears a
 * counter a cycle; `ready` says when.
 */
class SourceLimit(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val ready = Output(Bool())
    val limit = Input(UInt(p.datagramBits.W))
    val read = Flipped(Valid(UInt(p.sourceBits.W)))
    val count = Output(UInt(p.datagramBits.W))
    val full = Output(Bool())
    val write = Flipped(Valid(new SourceWrite(p)))
  })

  private val clearing = RegInit(0.U((p.sourceBits + 1).W))
  io.ready := clearing(p.sourceBits)
  when(!io.ready) { clearing := clearing + 1.U }

  private val memory = SyncReadMem(p.sources, UInt(p.datagramBits.W))
  when(!io.ready || io.write.valid) {
    memory.write(
      Mux(io.ready, io.write.bits.index, clearing(p.sourceBits - 1, 0)),
      Mux(io.ready, io.write.bits.count, 0.U)
    )
  }
  private val data = memory.read(io.read.bits, io.read.valid)
  private val count = Reg(UInt(p.datagramBits.W))
  when(RegNext(io.read.valid, false.B)) { count := data }
  io.count := count
  io.full := RegNext(count >= io.limit)
}
