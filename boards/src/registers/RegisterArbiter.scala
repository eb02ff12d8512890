// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.registers

import chisel3._

/**
 * Two managers of the same registers, who take turns: after an access of one, the other goes first.
 *
 * An access has the target for itself until it is answered. Latency 1 cycle to the target,
 * none back.
 */
class RegisterArbiter(addressBits: Int) extends Module {
  val io = IO(new Bundle {
    val managers = Vec(2, Flipped(new RegisterPort(addressBits)))
    val target = new RegisterPort(addressBits)
  })

  private val owner = RegInit(0.U(1.W))
  private val busy = RegInit(false.B)
  private val waits = RegInit(false.B)
  private val request = Reg(new RegisterRequest(addressBits))
  private val asks = VecInit(io.managers.map(_.request.valid))
  private val next = Mux(asks(~owner), ~owner, owner)

  io.target.request.valid := waits
  io.target.request.bits := request
  for ((manager, n) <- io.managers.zipWithIndex) {
    manager.request.ready := waits && io.target.request.ready && owner === n.U
    manager.response.valid := io.target.response.valid && owner === n.U
    manager.response.bits := io.target.response.bits
  }
  when(!busy) {
    owner := next
    busy := asks.reduce(_ || _)
    waits := asks.reduce(_ || _)
    request := io.managers(next).request.bits
  }.elsewhen(waits) {
    when(io.target.request.ready) { waits := false.B }
  }.elsewhen(io.target.response.valid) { busy := false.B }
}
