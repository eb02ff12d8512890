// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.link

import chisel3._
import sallyport.common.link.{LinkParams, LinkTx}
import sallyport.formal.harness.{Bug, Claim, Property}

/**
 * A receive buffer of 256 beats, the smallest. What a header tells of it is old by any time, and
 * headers get lost, but they come in order. Any packet of up to 255 beats may stand at the store's
 * end, and packets go whenever the output can take them.
 *
 * `held` is what the far buffer holds when it locks on a sender that was reset.
 */
class LinkCreditProperty
    extends Property(
      Claim(
        proves = "A sender never has more beats in flight and in the far receive buffer than that has room for.",
        clause = "Credits of link.md, LinkTx",
        bug = Bug("LinkTx", raw"room <=\s+sendPacket\s+\? roomAfter\[11:0\]\s+:", "room <="),
        assumes = Seq(
          "The far buffer frees what it has taken, once; headers come in order: LinkRxBuffer, Aurora.",
          "A header with `locked` tells what was freed since the receiver locked on this sender: LinkRx.",
          "The queue of CRCs has room for a stored packet: it has as many places as the store, LinkTx."
        ),
        cuts = Seq("FrameFifo", "MemoryQueue_1", "PipelineOutlet", "LinkPacker", "PayloadCrc", "LinkHeaderCrc"),
        depth = 1,
        reach = 8
      )
    ) {
  private val beats = 256
  private val dut = Module(new LinkTx(LinkParams(bufferBeats = beats)))
  dut.io.in.valid := any(Bool())
  dut.io.in.bits := any(chiselTypeOf(dut.io.in.bits))
  dut.io.up := any(Bool())
  dut.io.out.ready := any(Bool())
  private val feedback = any(chiselTypeOf(dut.io.feedback))
  dut.io.feedback := feedback
  assume(spy("dut._crcs_io_in_ready"))

  // Beats that are on their way or in the far buffer.
  private val count = UInt(10.W)
  private val answered = spy("dut.answered")
  private val sends = spy("dut.sendPacket")
  private val named = Mux(sends, spy("dut._store_io_out_bits_meta_beats", 8), 0.U)
  private val sent = spy("dut.sent", 12)
  private val held = any(count)
  private val frees = any(count)
  private val inside = RegInit(0.U(10.W))
  inside := Mux(answered, inside - frees + named, held)
  assume(held <= beats.U && frees <= inside)
  when(sends) { assert(inside + named <= beats.U) }

  // Room that the last header with `locked` told of, less the beats sent since. A header tells of
  // no less, and of no more than there is.
  private val space = RegInit(beats.U(10.W))
  private val news = any(count)
  private val far = dut.io.feedback.far
  private val tells = answered && far.valid && far.bits.locked
  assume(!tells || space <= news && news <= beats.U - inside)
  space := Mux(answered, Mux(tells, news, space) - named, beats.U - held)
  when(tells) { far.bits.freed := sent + news - beats.U }

  // Which states are possible.
  private val room = spy("dut.room", 12)
  private val established = spy("dut.established")
  assert(space <= beats.U && inside <= beats.U && space + inside <= beats.U && room <= space)
  assert(answered || !established)
  assert(established || sent === 0.U && room === 0.U)
  when(established) { assert(spy("dut.limit", 12) === sent + space) }
  private val moves = RegInit(false.B)
  when(tells && news =/= space) { moves := true.B }
  cover(sends && inside + named === beats.U)
  cover(sends && before(sends) && moves)
}
