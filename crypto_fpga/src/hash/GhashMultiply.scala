// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.util._
import sallyport.common.clock.ClockGate

/**
 * Feed-forward multiplier of GF(2^128): `out` = `a` · `b`, polynomials in the order of [[Gf128]];
 * one a cycle, no stall.
 *
 * Latency [[GhashMultiply.latency]] cycles: operands of two Karatsuba levels, then their 32 × 32
 * products, the sum of these, and the reduction. The operands' sums stand in front of their
 * registers, so that the products are nothing but 32 × 32: mapped together they take twice the
 * LUTs. A chain y' = (y ^ x) · h therefore takes a block every 4 cycles, with the XOR in front of
 * the operand register. The clock stops while the multiplier is empty; while `wipe` is high zeros
 * enter and replace its contents.
 */
class GhashMultiply[T <: Data](tagType: T) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new Bundle { val a = UInt(128.W); val b = UInt(128.W); val tag = tagType.cloneType }))
    val wipe = Input(Bool())
    val out = Valid(new Bundle { val product = UInt(128.W); val tag = tagType.cloneType })
  })

  private val valids = Wire(Vec(GhashMultiply.latency, Bool()))
  private val running = ClockGate(clock, io.in.valid || io.wipe || reset.asBool || valids.asUInt.orR)

  withClock(running) {
    def operands(x: UInt) = Gf128.leaves(Mux(io.wipe, 0.U, x)).map(RegNext(_))
    val products = operands(io.in.bits.a).zip(operands(io.in.bits.b)).map { case (a, b) => Gf128.multiply(a, b) }
    val sum = RegNext(Gf128.combine(products.map(RegNext(_))))
    val product = RegNext(Gf128.reduce(sum))

    valids.zip(io.in.valid +: valids.init).foreach { case (now, before) => now := RegNext(before, false.B) }
    io.out.valid := valids.last
    io.out.bits.product := product
    io.out.bits.tag := ShiftRegister(io.in.bits.tag, GhashMultiply.latency)
  }
}

object GhashMultiply {

  /** Cycles from `in` to `out`. */
  val latency = 4
}
