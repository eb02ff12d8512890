// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._

/**
 * A first-in first-out queue in LUT RAM, for where long paths begin: `in.ready` and `out.valid` are
 * registers themselves, with no pointers to compare behind them.
 *
 * One transfer a cycle. Latency 1 cycle. Never drops.
 *
 * @param entries places, a power of two
 */
class LutQueue[T <: Data](gen: T, entries: Int) extends Module {
  require(isPow2(entries) && entries >= 2, s"LutQueue of $entries entries: make it a power of two, 2 or more")

  val io = IO(new Bundle {
    val in = Flipped(Decoupled(gen))
    val out = Decoupled(gen)
  })

  /** What LUT RAM gives; flipped bits in a test. */
  protected def answered(bits: T): T = bits

  private val places = Mem(entries, gen)
  // A bit more than an address has: full and empty differ in it.
  private val write = RegInit(0.U((log2Ceil(entries) + 1).W))
  private val read = RegInit(0.U((log2Ceil(entries) + 1).W))
  private def place(pointer: UInt): UInt = pointer(log2Ceil(entries) - 1, 0)
  private val room = RegInit(true.B)
  private val some = RegInit(false.B)
  private val comes = io.in.fire
  private val goes = io.out.fire

  io.in.ready := room
  io.out.valid := some
  io.out.bits := answered(places(place(read)))
  when(comes) {
    places(place(write)) := io.in.bits
    write := write + 1.U
  }
  when(goes) { read := read + 1.U }
  when(comes =/= goes) {
    some := comes || read + 1.U =/= write
    room := goes || ((write + 1.U) ^ read) =/= entries.U
  }
}

object LutQueue {

  /** Puts one behind `in` and returns its output. */
  def apply[T <: Data](in: DecoupledIO[T], entries: Int): DecoupledIO[T] = {
    val queue = Module(new LutQueue(chiselTypeOf(in.bits), entries))
    queue.io.in <> in
    queue.io.out
  }
}
