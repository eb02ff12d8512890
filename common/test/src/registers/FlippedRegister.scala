// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import chisel3.util.experimental.BoringUtils

/**
 * A [[VotedRegister]] of up to 32 bits whose copies flip, also while its clock stands still.
 *
 * @param upsets flips of the copies since reset, 32 bits each: a register of the module around
 */
class FlippedRegister(bits: Int, reset: BigInt, upsets: => UInt) extends VotedRegister(bits, reset) {
  override protected def copy(number: Int, next: UInt, reset: UInt): UInt = {
    val flips = BoringUtils.bore(upsets).apply(32 * number + bits - 1, 32 * number)
    RegNext(next ^ flips, reset) ^ flips
  }
}

/** One such register: a bit of `flips` flips its copy at the next edge of the clock. */
class VotedRegisterBench(bits: Int, start: BigInt) extends Module {
  val flips = IO(Input(UInt(96.W)))
  private val upsets = RegInit(0.U(96.W))
  upsets := upsets ^ flips
  private val dut = Module(new FlippedRegister(bits, start, upsets))
  val io = IO(chiselTypeOf(dut.io))
  io <> dut.io
}

/** A register bank whose control registers flip together. */
class FlippedBank(p: RegisterBankParams) extends Module {
  val flips = IO(Input(UInt(96.W)))
  private val upsets = RegInit(0.U(96.W))
  upsets := upsets ^ flips
  private val dut = Module(new RegisterBank(p, new FlippedRegister(_, _, upsets)))
  val io = IO(chiselTypeOf(dut.io))
  io <> dut.io
}
