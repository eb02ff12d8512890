// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import chisel3.util._

/** A write of a 32-bit register; `mask` has a bit for each bit that the strobes let through. */
class RegisterWrite extends Bundle {
  val address = UInt(AxiLite.addressBits.W)
  val data = UInt(32.W)
  val mask = UInt(32.W)
}

class RegisterRead extends Bundle {
  val data = UInt(32.W)
  val error = Bool()
}

/**
 * The protocol half of an AXI4-Lite subordinate (AMBA IHI 0022 B1).
 *
 * Address and data of a write are taken independently, in either order. It gives out one write and
 * one read at a time, as one-cycle pulses of `write` and `read`. The user answers each once, one or
 * more cycles later, with a pulse of `writeDone` (its bit: error) or `readDone`. An error is
 * answered as SLVERR. The two low address bits are ignored. Every output is a register.
 */
class AxiLiteTarget extends Module {
  val io = IO(new Bundle {
    val axil = Flipped(new AxiLite)
    val write = Valid(new RegisterWrite)
    val writeDone = Flipped(Valid(Bool()))
    val read = Valid(UInt(AxiLite.addressBits.W))
    val readDone = Flipped(Valid(new RegisterRead))
  })
  private def aligned(address: UInt): UInt = address & ~3.U(AxiLite.addressBits.W)

  private val aw = Queue(io.axil.aw, 1)
  private val w = Queue(io.axil.w, 1)
  private val writing = RegInit(false.B)
  private val written = RegInit(false.B)
  private val startWrite = aw.valid && w.valid && !writing
  aw.ready := startWrite
  w.ready := startWrite
  io.write.valid := RegNext(startWrite, false.B)
  io.write.bits.address := RegEnable(aligned(aw.bits.addr), startWrite)
  io.write.bits.data := RegEnable(w.bits.data, startWrite)
  io.write.bits.mask := RegEnable(FillInterleaved(8, w.bits.strb), startWrite)
  when(startWrite) { writing := true.B }
  when(io.writeDone.valid) { written := true.B }
  when(io.axil.b.fire) {
    writing := false.B
    written := false.B
  }
  private def response(error: Bool): UInt = Mux(error, AxiLite.slverr.U(2.W), AxiLite.okay.U(2.W))
  io.axil.b.valid := written
  io.axil.b.bits := RegEnable(response(io.writeDone.bits), io.writeDone.valid)

  private val ar = Queue(io.axil.ar, 1)
  private val reading = RegInit(false.B)
  private val read = RegInit(false.B)
  private val startRead = ar.valid && !reading
  ar.ready := startRead
  io.read.valid := RegNext(startRead, false.B)
  io.read.bits := RegEnable(aligned(ar.bits.addr), startRead)
  when(startRead) { reading := true.B }
  when(io.readDone.valid) { read := true.B }
  when(io.axil.r.fire) {
    reading := false.B
    read := false.B
  }
  io.axil.r.valid := read
  io.axil.r.bits.data := RegEnable(io.readDone.bits.data, io.readDone.valid)
  io.axil.r.bits.resp := RegEnable(response(io.readDone.bits.error), io.readDone.valid)

  assert(!io.writeDone.valid || (writing && !written), "an answer to no write")
  assert(!io.readDone.valid || (reading && !read), "an answer to no read")
}
