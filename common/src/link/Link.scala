// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream

/** What a chip shows and counts of one link. */
class LinkStatus extends Bundle {

  /** Both directions carry packets. */
  val up = Bool()

  /** A packet came over the link, whole and right. */
  val received = Bool()

  /**
   * Packets that were lost on the link before this end, as they become known: exact as soon as the
   * receiver has locked again.
   */
  val lost = UInt(14.W)

  /** The receiver has locked again after a fault. */
  val resynced = Bool()

  /** A packet to send had `error` or more than 9600 bytes. */
  val dropped = Bool()
}

/**
 * Messages beside the packets of a link, for the chips' own affairs. A message has 88 bits. It
 * arrives unchanged or not at all, in the order of sending, and waits for no credit. A sender that
 * needs it to arrive sends it again. A message takes one word of the link, between two packets.
 */
class LinkMessages extends Bundle {

  /**
   * Taken at once while the link carries no packets, and lost; else one in
   * [[LinkTx.messagePeriod]] cycles.
   */
  val send = Flipped(Decoupled(UInt(LinkFrame.messageBits.W)))
  val receive = Valid(UInt(LinkFrame.messageBits.W))
}

/**
 * One end of a link between two chips: sender, receiver, credits and resynchronisation
 * (docs/reference/link.md).
 *
 * Delivers the packets that the far end's `in` took, in order, unchanged, each once; or not at all,
 * and then counted. See [[LinkTx]] and [[LinkRx]] for stalls and latency.
 *
 * Deadlock: none is possible. The encrypt and the decrypt direction share no buffer, and within a
 * link nothing that frees a buffer waits for one: a sender waits only for credits of the far
 * receive buffer; that buffer drains into the far chip's path of the same direction, which ends at
 * a port that drops rather than waits. What returns credits (headers of any packet, credit-only
 * headers) and what repairs the framing (request, resync) needs no credit, is made between two
 * packets, and is read by the far receiver as it comes, before any buffer. A packet starts only
 * when all its beats are here and have a place there, so it never stops half-way for either. A lost
 * credit is made good by the next header, since counts are cumulative; a lost resync or request by
 * the next request, 32 cycles later.
 *
 * What the framing cannot mend is a channel that has lost a part of a word, so that no header is
 * where one may be: then no good header comes, although the far end sends one at least every 64
 * cycles or behind its longest packet, and `port.restart` asks for the channel to begin anew.
 */
class Link(params: LinkParams) extends Module {
  val io = IO(new Bundle {
    val port = new LinkPort
    val in = Flipped(PacketStream(new LinkMeta))
    val out = PacketStream(new LinkMeta)
    val messages = Option.when(params.messages)(new LinkMessages)
    val status = Output(new LinkStatus)
  })

  private val tx = Module(new LinkTx(params))
  private val rx = Module(new LinkRx(params))
  tx.io.in <> io.in
  tx.io.up := io.port.up
  tx.io.feedback := rx.io.feedback
  io.port.tx <> tx.io.out
  rx.io.in := io.port.rx
  rx.io.up := io.port.up
  io.out <> rx.io.out
  for (((port, send), receive) <- io.messages.zip(tx.io.message).zip(rx.io.message)) {
    send <> port.send
    port.receive := receive
  }

  private val silence = RegInit(0.U((log2Ceil(Link.patience) + 1).W))
  private val tooLong = silence.head(1).asBool
  silence := Mux(!io.port.up || tooLong || rx.io.feedback.far.valid, 0.U, silence + 1.U)
  io.port.restart := RegNext(tooLong, false.B)

  io.status.up := RegNext(io.port.up && tx.io.established && rx.io.feedback.locked, false.B)
  io.status.received := rx.io.received
  io.status.lost := rx.io.lost
  io.status.resynced := rx.io.resynced
  io.status.dropped := tx.io.dropped
}

object Link {

  /**
   * Cycles without a good header that no link has whose words are in step: 109 us, some hundred
   * times what a resynchronisation takes.
   */
  val patience: Int = 1 << 15
}
