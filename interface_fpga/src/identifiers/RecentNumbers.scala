// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.identifiers

import chisel3._
import chisel3.util._

/**
 * Lets a number through if it is not among the last `apart` ones, as FreeBSD's `ip_randomid` does.
 *
 * A memory has for each number the generation in which it was let through last. A generation ends
 * after `apart` numbers; those of this one and of the one before are refused. Generations are
 * counted modulo 16, so now and then a number is refused for one of 16 generations ago, which does
 * no harm. Nor does a flipped bit: it lets one number through too early, or too late.
 *
 * A draw a cycle. [[RecentNumbers.latency]] cycles later it is `fresh` or `refused`. After reset
 * the memory is cleared, a row of [[RecentNumbers.rowNumbers]] numbers a cycle, until `ready`.
 */
class RecentNumbers(bits: Int, apart: Int) extends Module {
  import RecentNumbers._
  require(isPow2(apart) && apart >= 4, s"$apart numbers apart: make it a power of two, 4 or more")
  require(log2Ceil(apart) + 2 <= bits, s"of numbers of $bits bits, at most a quarter can be apart, not $apart")

  val io = IO(new Bundle {

    /** With `ready`. */
    val draw = Flipped(Valid(UInt(bits.W)))
    val fresh = Valid(UInt(bits.W))
    val refused = Output(Bool())
    val ready = Output(Bool())
  })

  private val placeBits = log2Ceil(rowNumbers)
  private def row(number: UInt): UInt = number(bits - 1, placeBits)
  private def place(number: UInt): UInt = number(placeBits - 1, 0)
  private val generations = SyncReadMem(1 << (bits - placeBits), Vec(rowNumbers, UInt(generationBits.W)))
  private val letThrough = RegInit(0.U(log2Ceil(apart).W))
  private val now = RegInit(2.U(generationBits.W)) // no cleared row is recent
  private val before = RegInit(1.U(generationBits.W))

  // Memory, output register, and the verdict, which is written a cycle later.
  private val rows = RegNext(generations.read(row(io.draw.bits), io.draw.valid))
  private val drawn = ShiftRegister(io.draw.valid, 2, false.B, true.B)
  private val number = ShiftRegister(io.draw.bits, 2)
  private val last = rows(place(number))

  // The memory does not show yet what the three draws before wrote.
  private val written = RegInit(VecInit.fill(3)(0.U.asTypeOf(Valid(UInt(bits.W)))))
  private val again = written.map(w => w.valid && w.bits === number).reduce(_ || _)
  private val fresh = drawn && !again && last =/= now && last =/= before
  written(0).valid := fresh
  written(0).bits := number
  for (i <- 1 until written.length) written(i) := written(i - 1)
  private val generation = RegNext(now)
  when(fresh) {
    letThrough := letThrough + 1.U
    when(letThrough.andR) {
      before := now
      now := now + 1.U
    }
  }

  // The rows that are clear, and the one port for writes.
  private val cleared = RegInit(0.U((bits - placeBits + 1).W))
  private val ready = cleared.head(1).asBool
  when(!ready)(cleared := cleared + 1.U)
  when(!ready || written(0).valid)(generations.write(
    Mux(ready, row(written(0).bits), cleared.tail(1)),
    VecInit.fill(rowNumbers)(Mux(ready, generation, 0.U)),
    (UIntToOH(place(written(0).bits), rowNumbers) | Fill(rowNumbers, !ready)).asBools
  ))
  io.fresh := written(0)
  io.refused := RegNext(drawn && !fresh, false.B)
  io.ready := ready
}

object RecentNumbers {
  val latency: Int = 3
  private val generationBits: Int = 4

  /** Numbers that are cleared in a cycle. */
  val rowNumbers: Int = 16
}
