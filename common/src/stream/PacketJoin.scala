// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/**
 * Joins packet streams into one, a whole packet at a time; its subclasses say which input is next.
 *
 * A beat a cycle as long as the next packet waits when the last beat of one leaves. While no packet
 * is under way, one on another input than the last one waits one cycle more. Latency 1 cycle
 * (registered output). `ready` of an input depends on registers alone. Never drops.
 */
abstract class PacketJoin[M <: Data](meta: M, inputs: Int) extends Module {
  require(inputs >= 2, s"a join of $inputs inputs: it takes 2 or more")

  val io = IO(new Bundle {
    val in = Vec(inputs, Flipped(PacketStream(meta)))
    val out = PacketStream(meta)
  })

  /**
   * The input that is next, one bit. `granted` is the one that has sent last, and `waiting` are the
   * others that have a packet; of no meaning while there are none.
   */
  protected def next(granted: UInt, waiting: UInt): UInt

  /** Whether it is next too if the granted one may have another packet at once. */
  protected def relieves(next: UInt, granted: UInt): Bool

  private val slice = Module(new RegisterSlice(new PacketBeat(meta)))
  io.out <> slice.io.out

  private val grant = RegInit(1.U(inputs.W))
  private val inPacket = RegInit(false.B)
  slice.io.in.valid := Mux1H(grant, io.in.map(_.valid))
  slice.io.in.bits := Mux1H(grant, io.in.map(_.bits))
  for ((in, index) <- io.in.zipWithIndex) in.ready := grant(index) && slice.io.in.ready

  private val fire = slice.io.in.fire
  when(fire) { inPacket := !slice.io.in.bits.last }
  private val waiting = VecInit(io.in.map(_.valid)).asUInt & (~grant).asUInt
  private val successor = next(grant, waiting)
  private val free = Mux(fire, slice.io.in.bits.last && relieves(successor, grant), !inPacket && !slice.io.in.valid)
  when(free && waiting.orR) { grant := successor }
}
