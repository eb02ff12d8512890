// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import chisel3.util._
import sallyport.boards.registers.{CardMap, RegisterPort, RegisterRequest}
import sallyport.common.link.LinkFrame

/**
 * The far end of a [[RegisterTunnelMaster]], on an interface card: makes the accesses that come as
 * messages, each once, and answers them.
 *
 * A request whose sequence bit is that of the last access is answered with what that answered.
 * After reset, and so long as no `open` has come, requests are ignored, for one that was made
 * before the reset may be repeated after it. So are messages that come while an access or an answer
 * is under way: the master repeats them. Latency 3 cycles from a message to the access, 2 from its
 * end to the answer.
 */
class RegisterTunnelTarget extends Module {
  val io = IO(new Bundle {
    val port = new RegisterPort(CardMap.cardBits)
    val send = Decoupled(UInt(LinkFrame.messageBits.W))
    val receive = Flipped(Valid(UInt(LinkFrame.messageBits.W)))
  })

  private val open = RegInit(false.B)
  // An access has been made since `open`, with this bit.
  private val made = RegInit(false.B)
  private val sequence = Reg(Bool())
  private val asks = RegInit(false.B)
  private val waits = RegInit(false.B)
  private val sends = RegInit(false.B)
  private val idle = !asks && !waits && !sends

  private val comes = RegNext(io.receive.valid, false.B)
  private val message = RegEnable(io.receive.bits.asTypeOf(new RegisterMessage), io.receive.valid)
  private val opens = comes && idle && message.kind === RegisterMessage.open.U
  private val requests = comes && idle && open && message.kind === RegisterMessage.request.U
  private val again = made && message.sequence === sequence
  private val request = Reg(new RegisterRequest(CardMap.cardBits))
  private val answer = Reg(new RegisterMessage)

  when(opens) {
    open := true.B
    made := false.B
    sends := true.B
    answer := RegisterMessage(RegisterMessage.opened.U)
    answer.round := message.round
  }
  when(requests && again) { sends := true.B }
  when(requests && !again) {
    made := true.B
    sequence := message.sequence
    asks := true.B
    request.write := message.write
    request.address := message.address
    request.data := message.data
    request.strobes := message.strobes
  }
  when(io.port.request.fire) {
    asks := false.B
    waits := true.B
  }
  when(io.port.response.valid) {
    waits := false.B
    sends := true.B
    answer := RegisterMessage(RegisterMessage.response.U)
    answer.sequence := sequence
    answer.error := io.port.response.bits.error
    answer.data := io.port.response.bits.data
  }
  when(io.send.fire) { sends := false.B }

  io.port.request.valid := asks
  io.port.request.bits := request
  io.send.valid := sends
  io.send.bits := answer.asUInt
}
