// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/**
 * Ends a path of `ready` without a cycle of latency: `in.ready` is a register, `valid` and the bits
 * pass through a multiplexer.
 *
 * One place, which takes what came while `out` could not. One transfer a cycle. Never drops.
 */
class SkidBuffer[T <: Data](gen: T) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Decoupled(gen))
    val out = Decoupled(gen)
  })

  private val full = RegInit(false.B)
  private val kept = Reg(gen)
  io.in.ready := !full
  io.out.valid := full || io.in.valid
  io.out.bits := Mux(full, kept, io.in.bits)
  full := io.out.valid && !io.out.ready
  when(!full) { kept := io.in.bits }
}

object SkidBuffer {

  /** Puts one behind `in` and returns its output. */
  def apply[T <: Data](in: DecoupledIO[T]): DecoupledIO[T] = {
    val buffer = Module(new SkidBuffer(chiselTypeOf(in.bits)))
    buffer.io.in <> in
    buffer.io.out
  }
}
