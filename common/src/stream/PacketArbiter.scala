// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/**
 * Joins packet streams into one, a whole packet at a time, round robin.
 *
 * One beat a cycle as long as the next packet waits when the last beat of one leaves. If the
 * arbiter is idle, a packet on another input than the last one waits one cycle more. Latency 1
 * cycle (registered output). `ready` of an input depends on registers alone. No input waits for
 * more than one packet of each other input. Never drops.
 */
class PacketArbiter[M <: Data](meta: M, inputs: Int) extends Module {
  require(inputs >= 2, s"PacketArbiter of $inputs inputs: it takes 2 or more")

  val io = IO(new Bundle {
    val in = Vec(inputs, Flipped(PacketStream(meta)))
    val out = PacketStream(meta)
  })

  private val slice = Module(new RegisterSlice(new PacketBeat(meta)))
  io.out <> slice.io.out

  private val grant = RegInit(1.U(inputs.W))
  private val inPacket = RegInit(false.B)
  slice.io.in.valid := Mux1H(grant, io.in.map(_.valid))
  slice.io.in.bits := Mux1H(grant, io.in.map(_.bits))
  for ((in, index) <- io.in.zipWithIndex) in.ready := grant(index) && slice.io.in.ready

  private val fire = slice.io.in.fire
  when(fire) { inPacket := !slice.io.in.bits.last }

  // The other inputs in the order they come after the granted one: a waiting one gets the
  // next packet.
  private val waiting = VecInit(io.in.map(_.valid)).asUInt & (~grant).asUInt
  private val after = (~((grant - 1.U) | grant)).asUInt & waiting
  private val next = Mux(after.orR, PriorityEncoderOH(after), PriorityEncoderOH(waiting))
  private val free = Mux(fire, slice.io.in.bits.last, !inPacket && !slice.io.in.valid)
  when(free && waiting.orR) { grant := next }
}
