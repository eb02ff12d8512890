// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.identifiers

import chisel3._
import chisel3.util._

/**
 * The stream cipher Trivium (C. De Cannière, B. Preneel, "Trivium", in New Stream Cipher Designs,
 * LNCS 4986, 2008; ISO/IEC 29192-3), 64 bits of keystream a step, with an IV of zeros.
 *
 * `load` takes a key, and needs [[Trivium.warmUpSteps]] steps whose keystream must not be used. A
 * step moves the state; `keystream` is that of the step, the cipher's first bit in bit 63. It
 * depends on registers alone, by one LUT. A load in the cycle of a step counts alone.
 */
class Trivium extends Module {
  val io = IO(new Bundle {

    /** The cipher's K1, which is s1, in bit 0. */
    val load = Flipped(Valid(UInt(Trivium.keyBits.W)))
    val step = Input(Bool())
    val keystream = Output(UInt(Trivium.stepBits.W))
  })

  // The three shift registers s1 to s93, s94 to s177, s178 to s288; each one's first bit in bit 0.
  private val a = Reg(UInt(93.W))
  private val b = Reg(UInt(84.W))
  private val c = Reg(UInt(111.W))

  /** Bit s`k` of a register that begins with s`first`, for 64 steps: the first step's in bit 63. */
  private def taps(register: UInt, first: Int)(k: Int): UInt =
    register(k - first, k - first - Trivium.stepBits + 1)
  private def ofA = taps(a, 1) _
  private def ofB = taps(b, 94) _
  private def ofC = taps(c, 178) _

  io.keystream := ofA(66) ^ ofA(93) ^ ofB(162) ^ ofB(177) ^ ofC(243) ^ ofC(288)
  private val toB = ofA(66) ^ ofA(93) ^ (ofA(91) & ofA(92)) ^ ofB(171)
  private val toC = ofB(162) ^ ofB(177) ^ (ofB(175) & ofB(176)) ^ ofC(264)
  private val toA = ofC(243) ^ ofC(288) ^ (ofC(286) & ofC(287)) ^ ofA(69)
  when(io.load.valid) {
    a := io.load.bits
    b := 0.U
    c := (BigInt(7) << 108).U
  }.elsewhen(io.step) {
    for ((register, bits) <- Seq(a -> toA, b -> toB, c -> toC))
      register := Cat(register(register.getWidth - Trivium.stepBits - 1, 0), bits)
  }
}

object Trivium {
  val keyBits: Int = 80
  val stepBits: Int = 64

  /** 4 × 288 of the cipher's steps. */
  val warmUpSteps: Int = 4 * 288 / stepBits
}
