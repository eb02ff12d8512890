// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketStream, PrependedHeader, RegisterSlice}

/** What a packet gets on the encrypt path. */
class EncryptVerdict extends Bundle {
  val header = new PrependedHeader(HeaderBuilder.lengths, new OuterTreatment)

  /** It is a clear packet, whose station comes later. */
  val awaits = Bool()
}

/**
 * Holds a clear packet until its answer is there, and gives it that. Others pass in the same cycle
 * unless a clear packet is before them: the order stays.
 *
 * A beat a cycle; no latency of its own. Answers come in the order of their packets, and wait here
 * for them: at most `most`.
 */
class ClearJoin(most: Int) extends Module {
  val io = IO(new Bundle {
    val answer = Flipped(Valid(new ClearAnswer))
    val in = Flipped(PacketStream(new EncryptVerdict))
    val out = PacketStream(new PrependedHeader(HeaderBuilder.lengths, new OuterTreatment))
  })

  private val waiting = Module(new Queue(new ClearAnswer, most))
  waiting.io.enq.valid := io.answer.valid
  waiting.io.enq.bits := io.answer.bits
  assert(!io.answer.valid || waiting.io.enq.ready, "an answer without room: more answers than packets")

  // A register behind the queue's memory, since the answer meets the packet's bytes in its cycle.
  private val slice = Module(new RegisterSlice(new ClearAnswer))
  slice.io.in <> waiting.io.deq
  private val answer = slice.io.out

  private val verdict = io.in.bits.meta
  private val goes = !verdict.awaits || answer.valid
  io.out.valid := io.in.valid && goes
  io.in.ready := io.out.ready && goes
  answer.ready := io.in.valid && verdict.awaits && io.out.ready && io.in.bits.last

  io.out.bits.data := io.in.bits.data
  io.out.bits.last := io.in.bits.last
  io.out.bits.bytes := io.in.bits.bytes
  io.out.bits.error := io.in.bits.error
  io.out.bits.meta := verdict.header
  when(verdict.awaits) {
    io.out.bits.meta.bytes := verdict.header.bytes.head(verdict.header.bytes.getWidth - 48) ## answer.bits.mac
    io.out.bits.meta.drop := answer.bits.drop
    io.out.bits.meta.meta.tags := answer.bits.tags
    io.out.bits.meta.meta.punt := answer.bits.punt
  }
}
