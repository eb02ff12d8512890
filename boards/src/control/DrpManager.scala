// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import chisel3.util._
import sallyport.boards.registers.RegisterPort

/**
 * Accesses of dynamic reconfiguration ports, in their clock. Bit 24 of a request's address chooses
 * the system monitor (0) or the MAC path (1); the bits below are the word's address.
 *
 * An access that the target has not ended after `patience` cycles, or for which there is no target,
 * answers an error: a target without its own clock is silent. A later answer is ignored, unless the
 * next access already waits; `patience` is far longer than a target takes.
 *
 * @param targets address bits of each port; at most two
 */
class DrpManager(targets: Seq[Int], patience: Int) extends Module {
  require(isPow2(patience), s"a patience of $patience cycles: make it a power of two")
  val io = IO(new Bundle {
    val port = Flipped(new RegisterPort(DrpManager.addressBits))
    val drp = MixedVec(targets.map(new DrpPort(_)))
  })

  private val busy = RegInit(false.B)
  private val request = RegEnable(io.port.request.bits, io.port.request.fire)
  private val starts = RegNext(io.port.request.fire, false.B)
  private val waited = RegInit(0.U(log2Ceil(patience + 1).W))
  private val expired = waited(log2Ceil(patience))
  private val chosen = targets.indices.map(n => request.address(DrpPort.macBits) === n.U)
  private val done = busy && !starts && io.drp.zip(chosen).map { case (drp, is) => drp.ready && is }.reduce(_ || _)

  io.port.request.ready := !busy
  when(io.port.request.fire) {
    busy := true.B
    waited := 0.U
  }.otherwise {
    waited := waited + 1.U
    when(done || expired) { busy := false.B }
  }
  for ((drp, is) <- io.drp.zip(chosen)) {
    drp.enable := RegNext(starts && is, false.B)
    drp.write := request.write
    drp.address := request.address(drp.addressBits - 1, 0)
    drp.dataIn := request.data(15, 0)
  }
  io.port.response.valid := RegNext(busy && (done || expired), false.B)
  io.port.response.bits.error := RegNext(!done)
  io.port.response.bits.data := RegNext(Mux1H(chosen, io.drp.map(_.dataOut)))
}

object DrpManager {
  val addressBits: Int = DrpPort.macBits + 1
}
