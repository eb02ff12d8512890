// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.stream

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketBeat, PacketStream, RegisterSlice}

/**
 * Joins packet streams into one, a whole packet at a time: the first of the inputs that has one
 * goes first.
 *
 * A beat a cycle while one input alone has packets; a change to another input costs a cycle unless
 * that one is further in front. Latency 1 cycle. `ready` of an input depends on registers alone. An
 * input waits as long as those in front of it have packets. Never drops.
 */
class PacketPriority[M <: Data](meta: M, inputs: Int) extends Module {
  require(inputs >= 2, s"PacketPriority of $inputs inputs: it takes 2 or more")

  val io = IO(new Bundle {
    val in = Vec(inputs, Flipped(PacketStream(meta)))
    val out = PacketStream(meta)
  })

  private val slice = Module(new RegisterSlice(new PacketBeat(meta)))
  io.out <> slice.io.out

  private val grant = RegInit(1.U(inputs.W))
  private val inside = RegInit(false.B)
  slice.io.in.valid := Mux1H(grant, io.in.map(_.valid))
  slice.io.in.bits := Mux1H(grant, io.in.map(_.bits))
  for ((in, index) <- io.in.zipWithIndex) in.ready := grant(index) && slice.io.in.ready

  private val fire = slice.io.in.fire
  when(fire) { inside := !slice.io.in.bits.last }
  private val waiting = VecInit(io.in.map(_.valid)).asUInt & (~grant).asUInt
  private val first = PriorityEncoderOH(waiting)
  private val free = Mux(fire, slice.io.in.bits.last && first < grant, !inside && !slice.io.in.valid)
  when(free && waiting.orR) { grant := first }
}
