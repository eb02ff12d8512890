// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.dispatch

import chisel3._

/**
 * The Toeplitz hash of receive side scaling (Krawczyk, CRYPTO '94; Microsoft, "RSS hashing types").
 *
 * Both numbers begin with their first bit on top. Bit m of the hash is the parity of the input and
 * of the key's bits from m on.
 *
 * A pipeline without stalls: `out` belongs to the inputs of [[Toeplitz.latency]] cycles before. Two
 * LUT levels each.
 *
 * @param inputBits bits of the input
 * @param bits      bits of the hash
 */
class Toeplitz(inputBits: Int, bits: Int) extends Module {
  val io = IO(new Bundle {
    val input = Input(UInt(inputBits.W))

    /** Static while traffic flows. */
    val key = Input(UInt(Toeplitz.keyBits(inputBits, bits).W))
    val out = Output(UInt(bits.W))
  })

  // Three bits and those of the key fill a LUT, and six of these the next one.
  private val together = 18
  io.out := VecInit.tabulate(bits) { m =>
    val masked = io.input & io.key(m + inputBits - 1, m)
    val parts = (0 until inputBits by together).map { low =>
      masked((low + together - 1).min(inputBits - 1), low).xorR
    }
    RegNext(RegNext(VecInit(parts)).asUInt.xorR)
  }.asUInt
}

object Toeplitz {
  val latency: Int = 2

  def keyBits(inputBits: Int, bits: Int): Int = inputBits + bits - 1
}
