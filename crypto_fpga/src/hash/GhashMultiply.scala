// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.experimental.hierarchy.Definition
import chisel3.util._
import sallyport.common.clock.ClockGate

/**
 * Feed-forward multiplier of GF(2^128): `out` = `a` · `b`, polynomials in the order of [[Gf128]];
 * one a cycle, no stall.
 *
 * Latency [[GhashMultiply.latency]] cycles: operands of three Karatsuba levels, then their products
 * up to those of 32 bits, the sum of these, and the reduction. The operands' sums stand in front
 * of their registers, so that the products are nothing but products. A chain y' = (y ^ x) · h
 * therefore takes a block every 4 cycles, with the XOR in front of the operand register. The clock
 * stops while the multiplier is empty. While `wipe` is high zeros enter and replace its contents;
 * `out` has a product of zero from the next cycle on. `ahead` shows the tag of `out` a cycle
 * earlier.
 */
class GhashMultiply[T <: Data](tagType: T) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new Bundle { val a = UInt(128.W); val b = UInt(128.W); val tag = tagType.cloneType }))
    val wipe = Input(Bool())
    val out = Valid(new Bundle { val product = UInt(128.W); val tag = tagType.cloneType })
    val ahead = Valid(tagType.cloneType)
  })

  private val valids = Wire(Vec(GhashMultiply.latency, Bool()))
  private val running = ClockGate(clock, io.in.valid || io.wipe || reset.asBool || valids.asUInt.orR)

  withClock(running) {
    implicit val gfRows: Definition[GfRows] = Definition(new GfRows)
    // Nothing is behind a wipe but the register, whose reset takes no LUT.
    def wiped(x: UInt) = RegNext(Mux(io.wipe, 0.U, x))
    def operands(x: UInt) = Gf128.leaves(x).map(wiped)
    val leaves = operands(io.in.bits.a).zip(operands(io.in.bits.b)).map { case (a, b) => Gf128.multiply(a, b) }
    val products = leaves.grouped(3).map(pair => RegNext(Gf128.combine(pair, 2 * Gf128.leaf))).toSeq
    val sum = RegNext(Gf128.combine(products, 128))
    val product = wiped(Gf128.reduce(sum))

    valids.zip(io.in.valid +: valids.init).foreach { case (now, before) => now := RegNext(before, false.B) }
    io.out.valid := valids.last
    io.out.bits.product := product
    io.ahead.valid := valids(GhashMultiply.latency - 2)
    io.ahead.bits := ShiftRegister(io.in.bits.tag, GhashMultiply.latency - 1)
    io.out.bits.tag := RegNext(io.ahead.bits)
  }
}

object GhashMultiply {

  /** Cycles from `in` to `out`. */
  val latency = 4
}
