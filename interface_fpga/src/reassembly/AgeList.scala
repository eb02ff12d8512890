// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._

/**
 * The places of a table that are in use, in the order in which they were taken: a list that is
 * linked both ways.
 *
 * `take` makes `place` the youngest. `leave` takes it off wherever it is; for that, `read` comes 2
 * cycles or more before `leave`, with the same `place`. `place` stays as it is up to the cycle
 * behind `take` or `leave`. `oldest` holds from 2 cycles behind each, and means nothing while no
 * place is in use. At most one of the three inputs is high, and 2 cycles are between any `take` or
 * `leave` and the next input.
 *
 * @param places a power of two
 */
class AgeList(places: Int) extends Module {
  require(isPow2(places) && places >= 2, s"a list of $places places: make it a power of two, 2 or more")
  private val placeBits = log2Ceil(places)
  val io = IO(new Bundle {
    val place = Input(UInt(placeBits.W))
    val read = Input(Bool())
    val take = Input(Bool())
    val leave = Input(Bool())
    val oldest = Output(UInt(placeBits.W))
  })

  private val first = Reg(UInt(placeBits.W))
  private val last = Reg(UInt(placeBits.W))
  private val some = RegInit(false.B)

  /** The neighbours of each place. */
  private val olderOf = SyncReadMem(places, UInt(placeBits.W))
  private val youngerOf = SyncReadMem(places, UInt(placeBits.W))
  private val readOlder = olderOf.read(io.place, io.read)
  private val readYounger = youngerOf.read(io.place, io.read)
  private val older = Reg(UInt(placeBits.W))
  private val younger = Reg(UInt(placeBits.W))
  when(RegNext(io.read, false.B)) {
    older := readOlder
    younger := readYounger
  }
  private val isFirst = RegNext(io.place === first)
  private val isLast = RegNext(io.place === last)

  private val takes = RegNext(io.take, false.B)
  private val leaves = RegNext(io.leave, false.B)
  when(takes || leaves && !isLast) {
    olderOf.write(Mux(takes, io.place, younger), Mux(takes, last, older))
  }
  when(takes && some || leaves && !isFirst) {
    youngerOf.write(Mux(takes, last, older), Mux(takes, io.place, younger))
  }
  when(takes) {
    last := io.place
    when(!some) { first := io.place }
    some := true.B
  }
  when(leaves) {
    when(isFirst) { first := younger }
    when(isLast) { last := older }
    some := !(isFirst && isLast)
  }
  io.oldest := first
  assert(!leaves || some, "a place leaves an empty list")
}
