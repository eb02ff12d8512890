// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import chisel3.util._
import sallyport.boards.registers.{CardMap, RegisterPort}
import sallyport.common.link.LinkFrame

/**
 * Register accesses to the card at the far end of a link, as messages of the link; on the crypto
 * card alone. An interface card has no master and the crypto card no [[RegisterTunnelTarget]]. So
 * an attacker who has captured an interface chip cannot reach a register of the crypto chip: a
 * master takes a message as the answer to its own request, or ignores it.
 *
 * An access is made once or not at all, though messages get lost. The master repeats a request
 * until its answer comes. The target answers a repeated request again without making the access,
 * since its sequence bit is that of the last. That needs both ends to agree on the bit, so the
 * first access, and the first after one was given up, is preceded by `open`, answered with its own
 * round. The link keeps messages in order, so all earlier messages have then arrived.
 *
 * When `patience` has passed `tries` times without an answer, to `open` and request together, the
 * access ends in an error: it was made once, or not. Latency: two ways of the link and the access.
 * At most `patience * (tries + 1)` cycles, which has to be below the 50 us that PCI Express leaves
 * a completion.
 *
 * @param patience cycles from a message to its repetition: a power of two, above the time that
 *   messages and the access take
 */
class RegisterTunnelMaster(patience: Int = 2048, tries: Int = 6) extends Module {
  require(isPow2(patience), s"a patience of $patience cycles: make it a power of two")
  val io = IO(new Bundle {
    val port = Flipped(new RegisterPort(CardMap.cardBits))
    val send = Decoupled(UInt(LinkFrame.messageBits.W))
    val receive = Flipped(Valid(UInt(LinkFrame.messageBits.W)))

    /** The target has answered since the last timeout. */
    val open = Output(Bool())

    /** A message is sent again; an access is given up. */
    val retried = Output(Bool())
    val timedOut = Output(Bool())
  })

  private val busy = RegInit(false.B)
  private val open = RegInit(false.B)
  private val sequence = RegInit(false.B)
  private val round = RegInit(0.U(RegisterMessage.roundBits.W))
  private val request = RegEnable(io.port.request.bits, io.port.request.fire)
  io.port.request.ready := !busy

  // The message received, a cycle late.
  private val comes = RegNext(io.receive.valid, false.B)
  private val message = RegEnable(io.receive.bits.asTypeOf(new RegisterMessage), io.receive.valid)
  private val opens = comes && busy && !open && message.kind === RegisterMessage.opened.U && message.round === round
  private val answers =
    comes && busy && open && message.kind === RegisterMessage.response.U && message.sequence === sequence

  // When something goes: at the beginning, when the target has opened, and when nothing has come
  // for a while.
  private val waited = RegInit(0.U(log2Ceil(patience + 1).W))
  private val expiries = RegInit(0.U(log2Ceil(tries + 1).W))
  private val expired = busy && waited(log2Ceil(patience))
  private val givesUp = expired && expiries === (tries - 1).U
  private val ends = answers || givesUp
  private val sends = RegInit(false.B)
  waited := Mux(!busy || expired || opens, 0.U, waited + 1.U)
  sends := io.port.request.fire || opens || (expired && !givesUp)
  when(io.port.request.fire) {
    busy := true.B
    expiries := 0.U
  }
  when(expired) { expiries := expiries + 1.U }
  when(opens) { open := true.B }
  when(ends) {
    busy := false.B
    sequence := !sequence && answers
  }
  when(givesUp && !answers) {
    open := false.B
    round := round + 1.U
  }

  // The message to send. A message that still waits for the link is not followed by another: that
  // one counts as lost.
  private val out = Wire(new RegisterMessage)
  out := RegisterMessage(RegisterMessage.open.U)
  out.round := round
  when(open) {
    out := RegisterMessage(RegisterMessage.request.U)
    out.sequence := sequence
    out.write := request.write
    out.strobes := request.strobes
    out.address := request.address
    out.data := request.data
  }
  private val slot = Module(new Queue(new RegisterMessage, 1))
  slot.io.enq.valid := sends
  slot.io.enq.bits := out
  io.send.valid := slot.io.deq.valid
  io.send.bits := slot.io.deq.bits.asUInt
  slot.io.deq.ready := io.send.ready

  io.port.response.valid := RegNext(ends, false.B)
  io.port.response.bits.error := RegNext(!answers || message.error)
  io.port.response.bits.data := RegNext(message.data)
  io.open := open
  io.retried := RegNext(expired && !givesUp, false.B)
  io.timedOut := RegNext(givesUp && !answers, false.B)
}
