// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._

/**
 * The highest number received of each SA, and where each packet's number stands against it (RFC
 * 4303 3.4.3).
 *
 * A query every second cycle, of one SA if need be; `place` follows [[ReplayTops.latency]] cycles
 * later, in order. An SA is known here by its first window row. `access` reads a row for software,
 * [[ReplayMemory.latency]] cycles later, and `set` writes one; both come while no query is
 * under way.
 */
class ReplayTops(rowBits: Int) extends Module {
  val io = IO(new Bundle {
    val query = Flipped(Valid(new ReplayQuery(rowBits)))
    val place = Output(new ReplayWindow.Place)
    val access = Flipped(Valid(UInt(rowBits.W)))
    val top = Output(UInt(64.W))
    val set = Flipped(Valid(new Bundle {
      val row = UInt(rowBits.W)
      val state = UInt(64.W)
    }))
  })
  import ReplayWindow.{blockBits, lowBits, mostRows, size}

  /** Number of the row in a ring of all rows, and the number's place in that ring. */
  private val rowNumberBits = log2Ceil(mostRows)
  private val ringBits = lowBits + rowNumberBits
  private def block(number: UInt): UInt = number(63, lowBits)
  private def row(number: UInt): UInt = number(ringBits - 1, lowBits)
  private def lap(number: UInt): UInt = number(63, ringBits)
  private def ring(number: UInt): UInt = number(ringBits - 1, 0)

  private val memory = Module(new ReplayMemory(rowBits, 64))
  memory.io.read.valid := io.query.valid || io.access.valid
  memory.io.read.bits := Mux(io.query.valid, io.query.bits.rows(0), io.access.bits)
  memory.io.set := io.set
  io.top := memory.io.state

  // What follows from the query alone.
  private val valid1 = RegNext(io.query.valid, false.B)
  private val sequence1 = RegNext(io.query.bits.sequence)
  private val window1 = RegNext(io.query.bits.window)
  private val beyondOne2 = RegNext(ReplayWindow.beyondOne(window1))
  private val beyondTwo2 = RegNext(ReplayWindow.beyondTwo(window1))
  private val window2 = RegNext(Mux(window1 > size.U, size.U, window1)(log2Ceil(size), 0))
  private val sequence2 = RegNext(sequence1)
  private val rows3 = RegNext(Cat(beyondTwo2, beyondOne2 && !beyondTwo2, !beyondOne2))
  private val sequence3 = RegNext(sequence2)
  private val rowMask4 = ShiftRegister(Cat(beyondTwo2, beyondOne2), 2)
  private val window4 = ShiftRegister(window2, 2)
  private val sequence4 = RegNext(sequence3)
  private val lapAfter4 = RegNext(lap(sequence3) + 1.U)
  private val blockAfter5 = ShiftRegister(block(sequence3) + rows3, 2)
  private val blockBefore5 = ShiftRegister(block(sequence3) - rows3, 2)
  private val zero5 = RegNext(RegNext(sequence3 === 0.U))

  // Stage 4: compare. An age is meaningful within the longest ring.
  private val valid4 = ShiftRegister(valid1, 3, false.B, true.B)
  private val top4 = memory.io.state
  private val valid5 = RegNext(valid4, false.B)
  private val top5 = RegNext(top4)
  private val sequence5 = RegNext(sequence4)
  private val window5 = RegNext(window4)
  private val ahead5 = RegNext(sequence4 > top4)
  private val sameLap5 = RegNext(lap(top4) === lap(sequence4))
  private val nextLap5 = RegNext(lap(top4) === lapAfter4)
  private val above5 = RegNext(ring(sequence4) > ring(top4))
  private val age5 = RegNext(ring(top4) - ring(sequence4))
  private val sameRow5 = RegNext(((row(top4) ^ row(sequence4)) & rowMask4) === 0.U)
  private val sameRowOfAll5 = RegNext(row(top4) === row(sequence4))

  // Stage 5: the highest moves, and so does the last number of the packet's row: to the number
  // itself if it is the highest; to the highest, if that is in the same row; else the row's block
  // is complete.
  memory.io.update.valid := valid5 && ahead5
  memory.io.update.bits := sequence5
  private val inRing = sameLap5 || (nextLap5 && above5)
  private val current = ahead5 || !sameRow5 || (sameLap5 && sameRowOfAll5)
  private val place = Wire(new ReplayWindow.Place)
  place.low := sequence5(lowBits - 1, 0)
  place.zero := zero5
  place.ahead := ahead5
  place.tooOld := !ahead5 && (!inRing || age5 >= window5)
  place.current := current
  place.lastBlock := Mux(current, block(sequence5), blockAfter5)
  place.blockBefore := Mux(current, blockBefore5, block(sequence5))
  place.lastLow := Mux(ahead5, sequence5, Mux(sameRow5, top5, Fill(lowBits, true.B)))(lowBits - 1, 0)
  io.place := RegNext(place)
  require(place.lastBlock.getWidth == blockBits)
}

object ReplayTops {

  /** Cycles from a query to its place. */
  val latency: Int = ReplayMemory.latency + 2
}
