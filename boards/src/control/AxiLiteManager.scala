// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import sallyport.boards.registers.{RegisterPort, RegisterRequest}
import sallyport.common.registers.AxiLite

/**
 * Makes AXI4-Lite accesses (AMBA IHI 0022 B1) of those of a [[RegisterPort]], one at a time.
 *
 * Address and data of a write are offered together and taken in either order. SLVERR and DECERR
 * become errors. Latency 1 cycle each way. A subordinate that never answers stops the port
 * for ever.
 */
class AxiLiteManager(addressBits: Int) extends Module {
  require(
    addressBits <= AxiLite.addressBits,
    s"an address of $addressBits bits: the subordinate's has ${AxiLite.addressBits}"
  )
  val io = IO(new Bundle {
    val port = Flipped(new RegisterPort(addressBits))
    val axil = new AxiLite
  })

  private val busy = RegInit(false.B)
  private val (aw, w, ar) = (RegInit(false.B), RegInit(false.B), RegInit(false.B))
  private val request = Reg(new RegisterRequest(addressBits))

  io.port.request.ready := !busy
  io.axil.aw.valid := aw
  io.axil.w.valid := w
  io.axil.ar.valid := ar
  for (address <- Seq(io.axil.aw.bits, io.axil.ar.bits)) {
    address.addr := request.address
    address.prot := 0.U
  }
  io.axil.w.bits.data := request.data
  io.axil.w.bits.strb := request.strobes
  io.axil.b.ready := busy && request.write
  io.axil.r.ready := busy && !request.write

  private val ends = io.axil.b.fire || io.axil.r.fire
  when(io.axil.aw.ready) { aw := false.B }
  when(io.axil.w.ready) { w := false.B }
  when(io.axil.ar.ready) { ar := false.B }
  when(io.port.request.fire) {
    request := io.port.request.bits
    busy := true.B
    aw := io.port.request.bits.write
    w := io.port.request.bits.write
    ar := !io.port.request.bits.write
  }.elsewhen(ends) { busy := false.B }

  io.port.response.valid := RegNext(ends, false.B)
  io.port.response.bits.data := RegNext(io.axil.r.bits.data)
  io.port.response.bits.error := RegNext(Mux(request.write, io.axil.b.bits, io.axil.r.bits.resp) =/= AxiLite.okay.U)
}
