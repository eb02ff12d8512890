// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.AdderTree
import sallyport.common.stream.PacketStream

/**
 * Sum of a packet's 32-bit words, byte 0 of each lowest: folded to 16 bits with end-around carry it
 * is what an Internet checksum needs of the packet (RFC 1071 2: in this byte order as well as in
 * the other).
 *
 * One beat a cycle. The sum up to a beat stands at `sum` [[PayloadSum.latency]] cycles after it and
 * for that cycle alone. A `first` beat always starts a new sum.
 */
class PayloadSum extends Module {
  val io = IO(new Bundle {
    val valid = Input(Bool())
    val first = Input(Bool())
    val data = Input(UInt(PacketStream.dataBits.W))
    val sum = Output(UInt(PayloadSum.bits.W))
  })

  private val beat = AdderTree(io.data.asTypeOf(Vec(PayloadSum.words, UInt(PayloadSum.wordBits.W))))
  private val valid = ShiftRegister(io.valid, PayloadSum.latency - 1, false.B, true.B)
  private val first = ShiftRegister(io.first, PayloadSum.latency - 1)
  private val sum = Reg(UInt(PayloadSum.bits.W))
  when(valid) { sum := Mux(first, 0.U, sum) + beat }
  io.sum := sum
}

object PayloadSum {
  private val wordBits: Int = 32
  private val words: Int = PacketStream.dataBits / wordBits
  val latency: Int = AdderTree.latency(words) + 1

  /** Wide enough for every word of the longest packet. */
  val bits: Int = wordBits + log2Ceil(LinkFrame.maxBytes / (wordBits / 8))
}
