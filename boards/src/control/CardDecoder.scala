// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import chisel3.util._
import sallyport.boards.registers.{CardMap, RegisterPort}

/**
 * Gives each access of the host to what its address names (docs/reference/cards.md):
 *
 * | bits 18:16 | bit 15 | |
 * |---|---|---|
 * | 0 | 0 | this card's core |
 * | 0 | 1 | this card's shell |
 * | 1 + n | | the card at the far end of link n, if `tunnels` has one |
 *
 * Any other address answers an error. One access at a time; latency 1 cycle each way.
 *
 * @param tunnels links whose far card is reached through this one
 */
class CardDecoder(tunnels: Int) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(new RegisterPort(CardMap.boxBits))
    val core = new RegisterPort(CardMap.halfBits)
    val shell = new RegisterPort(CardMap.halfBits)
    val far = Vec(tunnels, new RegisterPort(CardMap.cardBits))

    /** An access has answered an error. */
    val failed = Output(Bool())
  })

  private val targets = Seq(io.core, io.shell) ++ io.far
  private val card = io.in.request.bits.address(CardMap.boxBits - 1, CardMap.cardBits)
  private val half = io.in.request.bits.address(CardMap.halfBits)
  private val selects =
    Seq(card === 0.U && !half, card === 0.U && half) ++ Seq.tabulate(tunnels)(n => card === (1 + n).U)

  private val busy = RegInit(false.B)
  private val request = RegEnable(io.in.request.bits, io.in.request.fire)
  private val selected = RegEnable(VecInit(selects), io.in.request.fire)
  private val waits = RegInit(VecInit.fill(targets.length)(false.B))
  private val unmapped = RegNext(io.in.request.fire && !selects.reduce(_ || _), false.B)
  io.in.request.ready := !busy
  for (((target, select), n) <- targets.zip(selects).zipWithIndex) {
    target.request.valid := waits(n)
    target.request.bits.write := request.write
    target.request.bits.address := request.address(target.addressBits - 1, 0)
    target.request.bits.data := request.data
    target.request.bits.strobes := request.strobes
    when(io.in.request.fire) { waits(n) := select }.elsewhen(target.request.ready) { waits(n) := false.B }
  }

  private val answers = targets.map(_.response.valid).reduce(_ || _) || unmapped
  when(io.in.request.fire) { busy := true.B }.elsewhen(answers) { busy := false.B }
  private val response = Mux1H(selected, targets.map(_.response.bits))
  private val error = unmapped || response.error
  io.in.response.valid := RegNext(answers, false.B)
  io.in.response.bits.data := RegNext(response.data)
  io.in.response.bits.error := RegNext(error)
  io.failed := RegNext(answers && error, false.B)
}
