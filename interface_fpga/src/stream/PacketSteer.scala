// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.stream

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketStream, RegisterSlice}

/**
 * Sends each packet to the one output that `select` names, or swallows it if it names none.
 *
 * `select` (one bit an output) is a function of `in.bits.meta` alone, so it is the same on every
 * beat of a packet. One beat a cycle; latency 1 cycle. Stalls while any output's slice is full, so
 * an output that must not hold up the others has to be always ready. Drops nothing by itself: the
 * module that names no output counts the packet.
 */
class PacketSteer[M <: Data](meta: M, outputs: Int) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val select = Input(UInt(outputs.W))
    val out = Vec(outputs, PacketStream(meta))
  })

  private val slices = io.out.map { out =>
    val slice = Module(new RegisterSlice(chiselTypeOf(out.bits)))
    out <> slice.io.out
    slice.io.in
  }
  io.in.ready := slices.map(_.ready).reduce(_ && _)
  for ((slice, i) <- slices.zipWithIndex) {
    slice.valid := io.in.valid && io.in.ready && io.select(i)
    slice.bits := io.in.bits
  }
  assert(!io.in.valid || PopCount(io.select) <= 1.U, "a packet has two destinations")
}
