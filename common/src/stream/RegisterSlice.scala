// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/**
 * A register slice, registered both ways: neither `valid`, the bits nor `ready` pass
 * combinationally.
 *
 * Two entries (output register and skid register), so it sustains one transfer a cycle. Latency 1
 * cycle. Never drops.
 */
class RegisterSlice[T <: Data](gen: T) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Decoupled(gen))
    val out = Decoupled(gen)
  })

  private val outValid = RegInit(false.B)
  private val out = Reg(gen)
  private val skidValid = RegInit(false.B)
  private val skid = Reg(gen)

  io.in.ready := !skidValid
  io.out.valid := outValid
  io.out.bits := out

  when(io.out.ready || !outValid) {
    outValid := skidValid || io.in.valid
    out := Mux(skidValid, skid, io.in.bits)
    skidValid := false.B
  }.elsewhen(io.in.fire) {
    skidValid := true.B
  }
  when(!skidValid) { skid := io.in.bits }
}

object RegisterSlice {

  /** Puts a slice behind `in` and returns its output. */
  def apply[T <: Data](in: DecoupledIO[T]): DecoupledIO[T] = {
    val slice = Module(new RegisterSlice(chiselTypeOf(in.bits)))
    slice.io.in <> in
    slice.io.out
  }
}
