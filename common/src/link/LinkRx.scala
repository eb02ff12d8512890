// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.Crc
import sallyport.common.clock.{PipeClock, QuietClock}
import sallyport.common.queue.MemoryQueue
import sallyport.common.stream.PacketStream

/**
 * Receiver of one end of a link (docs/reference/link.md).
 *
 * Takes a word in any cycle, without back-pressure. Delivers a packet only if its CRC is right, it
 * is the next in the sender's count of beats, and everything since the last resync was right as
 * well. After the first fault (header check, type, length, CRC, count, a second reset of the
 * sender) it throws everything away until the resync that it asks for comes. It counts in `lost`
 * the packets that the sender had sent in between. Packets that are lost because one end is reset
 * are not counted.
 *
 * Latency from the word that ends a packet to its first beat out: 18 cycles. One beat a cycle.
 * `out` may stall for ever: the credits then stop the far sender.
 */
class LinkRx(params: LinkParams) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(UInt(PacketStream.dataBits.W)))
    val up = Input(Bool())
    val out = PacketStream(new LinkMeta)
    val feedback = Output(new LinkFeedback)

    /** See [[LinkMessages]]. */
    val message = Option.when(params.messages)(Valid(UInt(LinkFrame.messageBits.W)))

    /** A packet is delivered to the buffer. */
    val received = Output(Bool())

    /** Packets that were lost, as they become known. */
    val lost = Output(UInt(14.W))

    /** The receiver has locked after a fault. */
    val resynced = Output(Bool())
  })

  private val withSequence = params.withSequenceRx
  // Cycles from the unpacker to the verdict.
  private val depth = if (withSequence) 5 else 4

  private val parser = Module(new LinkParser(withSequence, params.messages))
  private val words = QuietClock.around(new MemoryQueue(new ParsedWord, 256), cycles = 8)(queue =>
    queue.io.in.valid || queue.io.out.valid
  )
  private val unpacker = Module(new LinkUnpacker(withSequence, depth))
  private val buffer = QuietClock.around(new LinkRxBuffer(params.bufferBeats), cycles = 16)(buffer =>
    buffer.io.write.valid || buffer.io.commit.valid || buffer.io.restart || buffer.io.out.valid
  )
  io.out <> buffer.io.out

  parser.io.in := io.in
  parser.io.up := io.up
  words.io.in.valid := parser.io.out.valid
  words.io.in.bits := parser.io.out.bits
  // Credits bound what waits here; only a sender that breaks them can overrun it.
  parser.io.overrun := RegNext(parser.io.out.valid && !words.io.in.ready, false.B)
  unpacker.io.in <> words.io.out

  // Payload into the buffer and through the CRC.
  private val item = unpacker.io.out.bits
  private val itemValid = unpacker.io.out.valid
  private val accepting = RegInit(false.B)
  private val bad = Wire(Bool())
  buffer.io.write.valid := itemValid && item.beat
  buffer.io.write.bits := item.data
  private val payloadCrc = Module(new PayloadCrc)
  payloadCrc.io.valid := itemValid && item.beat
  payloadCrc.io.first := item.first
  payloadCrc.io.data := item.data
  private val payloadSum = Option.when(params.withSumRx)(Module(new PayloadSum))
  for (sum <- payloadSum) {
    require(PayloadSum.latency == depth, "the sum of a packet stands when its verdict does")
    sum.io.valid := itemValid && item.beat
    sum.io.first := item.first
    sum.io.data := item.data
  }
  private val spilled = RegInit(false.B)
  when(itemValid && item.beat) { spilled := (spilled && !item.first) || buffer.io.full }

  // The part of an item that its verdict needs.
  private class Judged extends Bundle {
    val control = Bool()
    val resync = Bool()
    val hunting = Bool()
    val lock = UInt(4.W)
    val header = UInt(LinkFrame.headerBits.W)
    val sequence = UInt(64.W)
    val bytes = UInt(7.W)
    val spilled = Bool()
  }
  private val judged = Wire(new Judged)
  judged.control := item.control
  judged.resync := item.resync
  judged.hunting := item.hunting
  judged.lock := item.lock
  judged.header := item.header
  judged.sequence := item.sequence
  judged.bytes := item.bytes
  judged.spilled := (spilled && !item.first) || buffer.io.full

  private val ends = itemValid && (item.control || item.last)
  private val valids = Seq.iterate(ends, depth + 1)(v => RegNext(v && !bad, false.B))
  private val judging = Wire(Clock())
  PipeClock.drive(judging, clock, ends, awake = false.B, depth)
  private def judgingNext[T <: Data](value: T): T = withClock(judging)(RegNext(value))
  private val items = Seq.iterate(judged, depth + 1)(judgingNext(_))
  // The state after the payload stands two cycles after the item.
  private val headerPart =
    judgingNext(judgingNext(Crc.ieee.contribution(item.header(95, 0), LinkFrame.coveredBits)))
  private val afterPayload = Mux(items(2).control, "hffffffff".U, payloadCrc.io.crc)
  private val (crcIn, crcHeader, crcStage) =
    if (withSequence) {
      val after = Crc.ieee.advance(payloadCrc.io.crc, 64) ^ Crc.ieee.contribution(items(2).sequence, 64)
      (judgingNext(Mux(items(2).control, "hffffffff".U, after)), judgingNext(headerPart), 3)
    } else (afterPayload, headerPart, 2)
  private val crc = (~(Crc.ieee.advance(crcIn, LinkFrame.coveredBits) ^ crcHeader)).asUInt
  private val crcDifference = judgingNext(crc ^ items(crcStage).header(127, 96))
  private val crcGood = judgingNext(!crcDifference.orR)

  // Verdict.
  private val verdict = valids(depth)
  private val final_ = items(depth)
  private val header = final_.header.asTypeOf(new LinkHeader)
  private val resync = final_.header.asTypeOf(new ResyncHeader)
  private val expected = RegInit(0.U(12.W))
  private val freed = RegInit(0.U(12.W))
  private val accounted = RegInit(0.U(32.W))
  private val epoch = Reg(UInt(12.W))
  private val everLocked = RegInit(false.B)
  private val beats = judgingNext(LinkFrame.beats(items(depth - 1).header(27, 14)))

  private val isPacket = verdict && !final_.control
  private val isCredit = verdict && final_.control && !final_.hunting && header.kind === LinkFrame.credit.U
  private val isRequest = verdict && final_.control && header.kind === LinkFrame.request.U
  private val isRestart = verdict && final_.resync
  // All but the CRC is judged a cycle before the verdict, as if the verdict of this cycle were
  // good: a bad one throws away what follows it, and nothing follows a resync for some cycles.
  private val soon = items(depth - 1)
  private val soonHeader = soon.header.asTypeOf(new LinkHeader)
  private val soonInOrder = soonHeader.sent === expected + Mux(isPacket, beats, 0.U) && !soonHeader.fresh
  private val soonCredit = !soon.hunting && soonHeader.kind === LinkFrame.credit.U
  private val passes = judgingNext(Mux(soon.control, !soonCredit || soonInOrder, soonInOrder && !soon.spilled))
  private val foundRequest = judgingNext(soon.control && soon.hunting && soonHeader.kind === LinkFrame.request.U)
  private val good = crcGood && passes
  bad := verdict && !good && !foundRequest
  private val commit = isPacket && good

  when(commit) {
    expected := expected + beats
    accounted := accounted + 1.U
  }
  when(buffer.io.freed) { freed := freed + 1.U }
  when(bad) { accepting := false.B }
  private val restarted = isRestart && good
  private val missing = resync.packets - Mux(resync.epoch === epoch, accounted, 0.U)
  when(restarted) {
    accepting := true.B
    expected := resync.sent
    freed := freed + (resync.sent - expected) + buffer.io.freed
    accounted := resync.packets
    epoch := resync.epoch
    everLocked := true.B
  }
  unpacker.io.accept := accepting
  unpacker.io.flush := bad
  buffer.io.restart := unpacker.io.restart
  parser.io.hunt.valid := bad || unpacker.io.stray.valid
  parser.io.hunt.bits := Mux(bad, final_.lock, unpacker.io.stray.bits)
  parser.io.noise := Mux(verdict, final_.header(127, 96), 0.U)

  buffer.io.commit.valid := commit
  buffer.io.commit.bits.beats := beats
  buffer.io.commit.bits.lastBytes := final_.bytes
  private val meta = buffer.io.commit.bits.meta
  meta.length := header.length
  meta.sa := header.sa
  meta.bypass := header.bypass
  meta.transport := header.transport
  meta.moved := header.moved
  meta.df := header.df
  meta.tos := header.tos
  meta.nextHeader := header.nextHeader
  meta.peerTag := header.peerTag
  meta.sequence := payloadSum.fold(final_.sequence)(_.io.sum)

  // To the sender of this end.
  io.feedback.hunting := parser.io.hunting
  io.feedback.nonce := parser.io.nonce
  io.feedback.locked := accepting
  io.feedback.freed := freed
  io.feedback.far.valid := RegNext((isPacket || isCredit) && good, false.B)
  io.feedback.far.bits.freed := RegNext(header.freed)
  io.feedback.far.bits.locked := RegNext(header.locked)
  io.feedback.request.valid := RegNext(isRequest && crcGood, false.B)
  io.feedback.request.bits := RegNext(resync.nonce)

  for (port <- io.message) {
    port.valid := RegNext(
      verdict && final_.control && !final_.hunting && header.kind === LinkFrame.message.U && good,
      false.B
    )
    port.bits := RegNext(final_.header(LinkFrame.coveredBits - 1, LinkFrame.coveredBits - LinkFrame.messageBits))
  }

  // To the counters: a loss of many packets is spread over cycles.
  private val pendingLoss = RegInit(0.U(32.W))
  private val step = Mux(pendingLoss > 0x3fff.U, 0x3fff.U, pendingLoss(13, 0))
  pendingLoss := pendingLoss - step + Mux(restarted && everLocked, missing, 0.U)
  io.received := RegNext(commit, false.B)
  io.lost := RegNext(step, 0.U)
  io.resynced := RegNext(restarted && everLocked, false.B)
}
