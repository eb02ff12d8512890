// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import chisel3.util._
import sallyport.common.clock.PipeClock
import sallyport.common.stream.PacketStream

object CounterBank {

  /** Widest increment a cycle: the bytes of one frame; of a gauge the two's complement. */
  val incrementBits: Int = PacketStream.lengthBits

  /** Cycles from `read` to `value`. */
  val readLatency: Int = 3
}

/**
 * `counters` 64-bit counters, each with an increment of 0 to 2^14 - 1 every cycle; they wrap
 * after 2^64. Those of `gauges` fall as well: an increment is -2^13 to 2^13 - 1, and their value
 * must stay within 0 and 2^32 - 1.
 *
 * An increment counts two cycles later at the latest, in a read that starts then. A read takes one
 * value whole: the halves of a counter are one cycle apart (the carry is registered) and are
 * sampled one cycle apart.
 */
class CounterBank(counters: Int, gauges: Set[Int] = Set.empty) extends Module {
  require(counters >= 2, s"a counter bank has two counters or more, not $counters")
  require(gauges.subsetOf((0 until counters).toSet), s"a gauge is one of $counters counters, not of $gauges")
  val io = IO(new Bundle {
    val increments = Input(Vec(counters, UInt(CounterBank.incrementBits.W)))
    val read = Flipped(Valid(UInt(log2Ceil(counters).W)))
    val value = Valid(UInt(64.W))
  })

  PipeClock(io.increments.map(_.orR).reduce(_ || _) || io.read.valid, awake = false.B, CounterBank.readLatency) { _ =>
    val (low, high) = io.increments.zipWithIndex.map { case (increment, n) =>
      val falls = gauges(n)
      val low = RegInit(0.U(32.W))
      val carry = RegInit(false.B)
      val high = RegInit(0.U(32.W))
      val added = RegNext(increment, 0.U)
      val sum = low +& (if (falls) added.asSInt.pad(32).asUInt else added)
      low := sum(31, 0)
      carry := !falls.B && sum(32)
      high := high + carry
      (low, high)
    }.unzip

    val select = RegNext(UIntToOH(io.read.bits, counters))
    val lowValue = RegNext(Mux1H(select, low))
    val highValue = RegNext(Mux1H(RegNext(select), high))
    io.value.valid := ShiftRegister(io.read.valid, CounterBank.readLatency, false.B, true.B)
    io.value.bits := highValue ## RegNext(lowValue)
  }
}
