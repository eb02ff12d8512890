// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.memory.{CodedMemory, MemoryWrite, RowForward}

/**
 * The highest number received of each SA, and where each packet's number stands against it (RFC
 * 4303 3.4.3).
 *
 * A query every second cycle, of one SA if need be; `place` follows [[ReplayTops.latency]] cycles
 * later, in order. An SA is known here by its first window row. `access` reads a row for software,
 * [[ReplayTops.accessLatency]] cycles later, and `set` writes one; both come while no query is
 * under way.
 *
 * One flipped bit of a number in the memory changes nothing: it is repaired, and the next query
 * writes the number back right. Two take the SA out of use: its places are `lost`, until the row is
 * set. All bits of a lost number are set, so a box that takes it over accepts no replay. `repaired`
 * and `lost` pulse for each query that found one such number in the memory.
 *
 * @param store a memory of so many rows of so many bits
 */
class ReplayTops(rowBits: Int, store: (Int, Int) => CodedMemory) extends Module {
  val io = IO(new Bundle {
    val query = Flipped(Valid(new ReplayQuery(rowBits)))
    val place = Output(new ReplayWindow.Place)
    val access = Flipped(Valid(UInt(rowBits.W)))
    val top = Output(UInt(64.W))
    val set = Flipped(Valid(new MemoryWrite(rowBits, 64)))
    val repaired = Output(Bool())
    val lost = Output(Bool())
  })
  import ReplayWindow.{blockBits, lowBits, mostRows, size}

  /** Number of the row in a ring of all rows, and the number's place in that ring. */
  private val rowNumberBits = log2Ceil(mostRows)
  private val ringBits = lowBits + rowNumberBits
  private def block(number: UInt): UInt = number(63, lowBits)
  private def row(number: UInt): UInt = number(ringBits - 1, lowBits)
  private def lap(number: UInt): UInt = number(63, ringBits)
  private def ring(number: UInt): UInt = number(ringBits - 1, 0)

  private class Top extends Bundle {
    val lost = Bool()
    val number = UInt(64.W)
  }
  private val topBits = (new Top).getWidth

  private val memory = Module(store(1 << rowBits, topBits))
  private val forward = Module(new RowForward(rowBits, topBits, CodedMemory.latency))
  forward.io.read.valid := io.query.valid || io.access.valid
  forward.io.read.bits := Mux(io.query.valid, io.query.bits.rows(0), io.access.bits)
  forward.io.set.valid := io.set.valid
  forward.io.set.bits.index := io.set.bits.index
  forward.io.set.bits.data := io.set.bits.data
  forward.io.stored := memory.io.row.data | Fill(topBits, memory.io.row.spoiled)
  memory.io.read := forward.io.read
  memory.io.write := forward.io.write

  // What follows from the query alone, in the four stages before the number is there.
  private def asked(value: UInt): UInt = ShiftRegister(value, ReplayTops.accessLatency - 3)
  private val sequence2 = asked(io.query.bits.sequence)
  private val window2 = asked(io.query.bits.window)
  private val beyondOne3 = RegNext(ReplayWindow.beyondOne(window2))
  private val beyondTwo3 = RegNext(ReplayWindow.beyondTwo(window2))
  private val window3 = RegNext(Mux(window2 > size.U, size.U, window2)(log2Ceil(size), 0))
  private val sequence3 = RegNext(sequence2)
  private val rows4 = RegNext(Cat(beyondTwo3, beyondOne3 && !beyondTwo3, !beyondOne3))
  private val sequence4 = RegNext(sequence3)
  private val rowMask5 = ShiftRegister(Cat(beyondTwo3, beyondOne3), 2)
  private val window5 = ShiftRegister(window3, 2)
  private val sequence5 = RegNext(sequence4)
  private val lapAfter5 = RegNext(lap(sequence4) + 1.U)
  private val blockAfter6 = ShiftRegister(block(sequence4) + rows4, 2)
  private val blockBefore6 = ShiftRegister(block(sequence4) - rows4, 2)
  private val zero6 = RegNext(RegNext(sequence4 === 0.U))

  // Stage 5: compare. An age is meaningful within the longest ring.
  private val valid5 = ShiftRegister(io.query.valid, ReplayTops.accessLatency, false.B, true.B)
  private val state5 = forward.io.state.asTypeOf(new Top)
  private val top5 = state5.number
  private val repaired5 = RegNext(memory.io.row.repaired) && !forward.io.forwarded
  private val spoiled5 = RegNext(memory.io.row.spoiled) && !forward.io.forwarded
  io.top := top5
  private val valid6 = RegNext(valid5, false.B)
  private val repaired6 = RegNext(repaired5)
  private val spoiled6 = RegNext(spoiled5)
  private val state6 = RegNext(state5)
  private val top6 = state6.number
  private val sequence6 = RegNext(sequence5)
  private val window6 = RegNext(window5)
  private val ahead6 = RegNext(sequence5 > top5)
  private val sameLap6 = RegNext(lap(top5) === lap(sequence5))
  private val nextLap6 = RegNext(lap(top5) === lapAfter5)
  private val above6 = RegNext(ring(sequence5) > ring(top5))
  private val age6 = RegNext(ring(top5) - ring(sequence5))
  private val sameRow6 = RegNext(((row(top5) ^ row(sequence5)) & rowMask5) === 0.U)
  private val sameRowOfAll6 = RegNext(row(top5) === row(sequence5))

  // Stage 6: the highest moves, or is written back right. So does the last number of the packet's
  // row: to the number itself if it is the highest; to the highest, if that is in the same row;
  // else the row's block is complete. No number is above a lost one.
  private val next = Wire(new Top)
  next.lost := state6.lost
  next.number := Mux(ahead6, sequence6, top6)
  forward.io.update.valid := valid6 && (ahead6 || repaired6 || spoiled6)
  forward.io.update.bits := next.asUInt
  io.repaired := RegNext(valid6 && repaired6, false.B)
  io.lost := RegNext(valid6 && spoiled6, false.B)
  private val inRing = sameLap6 || (nextLap6 && above6)
  private val current = ahead6 || !sameRow6 || (sameLap6 && sameRowOfAll6)
  private val place = Wire(new ReplayWindow.Place)
  place.low := sequence6(lowBits - 1, 0)
  place.zero := zero6
  place.lost := state6.lost
  place.ahead := ahead6
  place.tooOld := !ahead6 && (!inRing || age6 >= window6)
  place.current := current
  place.lastBlock := Mux(current, block(sequence6), blockAfter6)
  place.blockBefore := Mux(current, blockBefore6, block(sequence6))
  place.lastLow := Mux(ahead6, sequence6, Mux(sameRow6, top6, Fill(lowBits, true.B)))(lowBits - 1, 0)
  io.place := RegNext(place)
  require(place.lastBlock.getWidth == blockBits && forward.latency == ReplayTops.accessLatency)
}

object ReplayTops {

  /** Cycles from the name of a row to its number: memory, repair, forwarding. */
  val accessLatency: Int = CodedMemory.latency + 1

  /** Cycles from a query to its place. */
  val latency: Int = accessLatency + 2
}
