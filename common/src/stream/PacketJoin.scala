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
 *
 * @param registered without it the latency is 0, and `ready` of an input also depends on `out`'s
 */
abstract class PacketJoin[M <: Data](meta: M, inputs: Int, registered: Boolean = true) extends Module {
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

  private val to = {
    if (registered) {
      val slice = Module(new RegisterSlice(new PacketBeat(meta)))
      io.out <> slice.io.out
      slice.io.in
    } else io.out
  }

  private val grant = RegInit(1.U(inputs.W))
  private val inPacket = RegInit(false.B)
  to.valid := Mux1H(grant, io.in.map(_.valid))
  to.bits := Mux1H(grant, io.in.map(_.bits))
  for ((in, index) <- io.in.zipWithIndex) in.ready := grant(index) && to.ready

  private val fire = to.fire
  when(fire) { inPacket := !to.bits.last }
  private val waiting = VecInit(io.in.map(_.valid)).asUInt & (~grant).asUInt
  private val successor = next(grant, waiting)
  private val free = Mux(fire, to.bits.last && relieves(successor, grant), !inPacket && !to.valid)
  when(free && waiting.orR) { grant := successor }
}
