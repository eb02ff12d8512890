// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.clock.QuietClock
import sallyport.common.queue.{FrameFifo, FrameFifoParams, MemoryQueue, WhenFull}
import sallyport.common.stream.{PacketStream, PipelineOutlet}

/**
 * Sender of one end of a link (docs/reference/link.md).
 *
 * Takes packets of 1 to 9600 bytes, stores each until it is whole, and sends it when the far buffer
 * has room for it. The length in the header is counted here. A packet with `error` or longer than
 * 9600 bytes is dropped and pulses `dropped`; nothing else is.
 *
 * Stalls: the input waits when the store (256 beats) is full, which is when the credits are used
 * up, when Aurora takes no words, while `up` is low, and from reset until the far receiver has
 * locked on a resync of this sender.
 *
 * Order of frames, decided between packets: resync (answer to a request), resync request (every 32
 * cycles while the receiver hunts), message (at most every 64 cycles), credit-only that is 64
 * cycles overdue, packet, credit-only if `freed` moved (at most every 16 cycles).
 *
 * One word a cycle; a one-beat packet every cycle. Latency from the last beat in to the first word
 * out: 10 cycles on an idle link.
 */
class LinkTx(params: LinkParams) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val up = Input(Bool())
    val feedback = Input(new LinkFeedback)
    val out = Decoupled(UInt(PacketStream.dataBits.W))
    val dropped = Output(Bool())

    /** See [[LinkMessages]]. */
    val message = Option.when(params.messages)(Flipped(Decoupled(UInt(LinkFrame.messageBits.W))))

    /** The far receiver has locked on this sender since reset. */
    val established = Output(Bool())
  })

  private val storeBeats = 256
  private class StoredMeta extends Bundle {
    val link = new LinkMeta
    val beats = UInt(8.W)
  }

  // Store: whole packets, and their CRCs in a queue beside it, in the same order.
  private val store = QuietClock.around(
    new FrameFifo(new StoredMeta, FrameFifoParams(storeBeats, WhenFull.Stall)),
    cycles = 16
  )(fifo => fifo.io.in.valid || fifo.io.out.valid)
  private val crcs = QuietClock.around(new MemoryQueue(UInt(32.W), storeBeats), cycles = 8)(queue =>
    queue.io.in.valid || queue.io.out.valid
  )
  private val payloadCrc = Module(new PayloadCrc)
  private val beat = RegInit(0.U(8.W))
  private val tooLong = RegInit(false.B)
  when(io.in.fire) {
    beat := Mux(io.in.bits.last, 0.U, Mux(beat.andR, beat, beat + 1.U))
    tooLong := !io.in.bits.last && beat >= (LinkFrame.maxBeats - 1).U
  }
  store.io.in.valid := io.in.valid
  io.in.ready := store.io.in.ready
  store.io.in.bits.data := io.in.bits.data
  store.io.in.bits.last := io.in.bits.last
  store.io.in.bits.bytes := io.in.bits.bytes
  store.io.in.bits.error := io.in.bits.error || tooLong
  store.io.in.bits.meta.link := io.in.bits.meta
  store.io.in.bits.meta.link.length := (beat ## 0.U(6.W)) + io.in.bits.bytes
  store.io.in.bits.meta.beats := beat + 1.U
  payloadCrc.io.valid := io.in.fire
  payloadCrc.io.first := beat === 0.U
  payloadCrc.io.data := io.in.bits.data
  io.dropped := store.io.droppedError || store.io.droppedOverflow
  crcs.io.in.valid := RegNext(RegNext(io.in.fire && io.in.bits.last, false.B) && !io.dropped, false.B)
  crcs.io.in.bits := payloadCrc.io.crc
  assert(!crcs.io.in.valid || crcs.io.in.ready)

  // Credits.
  private val head = store.io.out
  private val sent = RegInit(0.U(12.W))
  private val packets = RegInit(0.U(32.W))
  private val limit = RegInit(params.bufferBeats.U(12.W))
  private val room = RegInit(0.U(12.W))
  // A receiver that hunts may have been reset: its count means nothing yet.
  when(io.feedback.far.valid && io.feedback.far.bits.locked) {
    limit := io.feedback.far.bits.freed + params.bufferBeats.U
  }
  private val answered = RegInit(false.B)
  private val established = RegInit(false.B)
  private val epoch = Reg(UInt(12.W))
  when(io.feedback.far.valid && io.feedback.far.bits.locked && answered) { established := true.B }
  io.established := established

  // The next thing to send.
  private val outlet = Module(new PipelineOutlet(new LinkPiece, 8))
  private val inPacket = RegInit(false.B)
  private val answer = RegInit(0.U.asTypeOf(Valid(UInt(32.W))))
  private val requestTimer = RegInit(0.U(5.W))
  private val requestDue = RegInit(false.B)
  private val headerTimer = RegInit(0.U(7.W))
  private val freedSent = RegInit(0.U(12.W))
  private val go = outlet.io.ready && io.up
  private val between = go && !inPacket
  private val overdue = headerTimer(6)
  // One subtraction tells whether the packet fits and how much room is left: a comparison would be
  // a LUT level deeper.
  private val roomAfter = room -& head.bits.meta.beats
  private val affordable = established && crcs.io.out.valid && !roomAfter(12)
  private val sendResync = between && answer.valid
  private val sendRequest = between && !answer.valid && requestDue
  // A message that is to go, registered; gone without messages.
  private val message = io.message.map { port =>
    val due = RegInit(false.B)
    val sends = between && !answer.valid && !requestDue && due
    val rest = RegInit(0.U(log2Ceil(LinkTx.messagePeriod).W))
    val lost = RegNext(!established || !io.up, true.B)
    val payload = RegEnable(port.bits, port.fire)
    port.ready := !due && (lost || rest === 0.U)
    when(port.fire && !lost) { due := true.B }.elsewhen(sends || lost) { due := false.B }
    rest := Mux(sends, (LinkTx.messagePeriod - 1).U, Mux(rest === 0.U, 0.U, rest - 1.U))
    (due, sends, payload)
  }
  private def unless(due: Option[Bool]): Bool => Bool = condition => due.fold(condition)(condition && !_)
  private val noResync = unless(message.map(_._1))(!answer.valid && !requestDue)
  private val takePacket = between && noResync && !overdue && affordable
  private val sendPacket = takePacket && head.valid
  private val sendCredit = between && noResync &&
    (overdue || (!(affordable && head.valid) && io.feedback.freed =/= freedSent && headerTimer(5, 4).orR))
  private val takeBeat = go && inPacket
  private val sendBeat = takeBeat && head.valid

  head.ready := takePacket || takeBeat
  crcs.io.out.ready := sendPacket
  when(sendPacket || sendBeat) { inPacket := !head.bits.last }
  when(sendPacket) {
    sent := sent + head.bits.meta.beats
    packets := packets + 1.U
    room := roomAfter(11, 0)
  }.otherwise {
    val available = limit - sent
    // The limit of before means nothing in the cycle in which the link is established.
    room := Mux(!established || available > params.bufferBeats.U, 0.U, available)
  }
  when(io.feedback.request.valid) {
    answer.valid := true.B
    answer.bits := io.feedback.request.bits
  }.elsewhen(sendResync) { answer.valid := false.B }
  when(sendResync) {
    answered := true.B
    when(!answered) { epoch := answer.bits(11, 0) }
  }
  requestTimer := Mux(sendRequest, 31.U, Mux(requestTimer === 0.U || !io.feedback.hunting, 0.U, requestTimer - 1.U))
  requestDue := io.feedback.hunting && requestTimer === 0.U && !sendRequest
  when(sendPacket || sendCredit) {
    headerTimer := 0.U
    freedSent := io.feedback.freed
  }.elsewhen(!overdue) { headerTimer := headerTimer + 1.U }

  // The header.
  private val normal = Wire(new LinkHeader)
  private val meta = head.bits.meta.link
  normal := 0.U.asTypeOf(normal)
  normal.kind := Mux(sendPacket, LinkFrame.packet.U, LinkFrame.credit.U)
  normal.locked := io.feedback.locked
  normal.fresh := !answered
  normal.sent := sent
  normal.freed := io.feedback.freed
  when(sendPacket) {
    normal.bypass := meta.bypass
    normal.transport := meta.transport
    normal.moved := meta.moved
    normal.df := meta.df
    normal.length := meta.length
    normal.sa := meta.sa
    normal.tos := meta.tos
    normal.nextHeader := meta.nextHeader
    normal.peerTag := meta.peerTag
  }
  private val resync = Wire(new ResyncHeader)
  resync := 0.U.asTypeOf(resync)
  resync.kind := Mux(sendResync, LinkFrame.resync.U, LinkFrame.request.U)
  resync.nonce := Mux(sendResync, answer.bits, io.feedback.nonce)
  when(sendResync) {
    resync.sent := sent
    resync.epoch := Mux(answered, epoch, answer.bits(11, 0))
    resync.packets := packets
  }

  private val sendMessage = message.map(_._2)
  private val control = sendMessage.foldLeft(sendResync || sendRequest || sendCredit)(_ || _)
  private val sequence = if (params.withSequenceTx) meta.sequence else 0.U(64.W)
  outlet.io.take := control || sendPacket || sendBeat
  outlet.io.cancel := false.B

  private val header = Module(new LinkHeaderCrc(params.withSequenceTx))
  header.io.in.valid := control || sendPacket
  header.io.in.bits.packet := !control
  header.io.in.bits.covered := message.foldLeft(Mux(sendResync || sendRequest, resync.asUInt, normal.asUInt)(
    LinkFrame.coveredBits - 1,
    0
  )) { case (other, (_, sends, payload)) => Mux(sends, payload ## LinkFrame.message.U(8.W), other) }
  header.io.in.bits.sequence := sequence
  header.io.in.bits.payload := crcs.io.out.bits

  // What the header stands in front of, beside it.
  private val piece = Wire(new LinkPiece)
  piece.first := control || sendPacket
  piece.last := control || head.bits.last
  piece.packet := !control
  piece.header := DontCare
  piece.sequence := sequence
  piece.units := Mux(control, 0.U, head.bits.bytes(6, 3) + head.bits.bytes(2, 0).orR)
  piece.data := Mux(control, 0.U, head.bits.data)
  outlet.io.in.valid := ShiftRegister(outlet.io.take, LinkHeaderCrc.latency, false.B, true.B)
  private val soon = ShiftRegister(piece, LinkHeaderCrc.latency - 1)
  private val headUnits = if (params.withSequenceTx) Mux(soon.packet, 3.U, 2.U) else 2.U
  outlet.io.in.bits := RegNext(soon)
  outlet.io.in.bits.units := RegNext(soon.units + Mux(soon.first, headUnits, 0.U))
  outlet.io.in.bits.header := header.io.out

  private val packer = Module(new LinkPacker(params.withSequenceTx))
  packer.io.in <> outlet.io.out
  io.out <> packer.io.out
}

object LinkTx {

  /** Cycles from a message to the next, at least. */
  val messagePeriod: Int = 64
}
