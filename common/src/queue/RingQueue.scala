// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._

/**
 * A first-in first-out queue of narrow entries that can never be full: its user never has to ask
 * for room.
 *
 * One transfer a cycle. Latency 1 cycle: an entry is registered first, so that `in` may end a long
 * path, and then goes past an empty ring. The ring is LUT RAM. `clear` empties the queue; hold it
 * until the last entry has come.
 *
 * @param entries places, a power of two
 */
class RingQueue[T <: Data](gen: T, entries: Int) extends Module {
  require(isPow2(entries) && entries >= 2, s"RingQueue of $entries entries: make it a power of two, 2 or more")

  val io = IO(new Bundle {
    val in = Flipped(Valid(gen))
    val clear = Input(Bool())
    val out = Decoupled(gen)
  })

  private val ring = Mem(entries, gen)
  private val write = RegInit(0.U(log2Ceil(entries).W))
  private val read = RegInit(0.U(log2Ceil(entries).W))
  private val count = RegInit(0.U(log2Ceil(entries + 1).W))
  private val some = RegInit(false.B)
  private val fresh = RegNext(io.in.valid, false.B)
  private val freshBits = RegEnable(io.in.bits, io.in.valid)
  private val enters = fresh && (some || !io.out.ready)
  private val leaves = some && io.out.ready

  io.out.valid := some || fresh
  io.out.bits := Mux(some, ring(read), freshBits)
  when(enters) {
    ring(write) := freshBits
    write := write + 1.U
  }
  when(leaves) { read := read + 1.U }
  when(enters =/= leaves) {
    count := Mux(enters, count + 1.U, count - 1.U)
    some := enters || count =/= 1.U
  }
  when(io.clear) {
    write := 0.U
    read := 0.U
    count := 0.U
    some := false.B
  }
  assert(io.clear || !RegNext(io.clear, false.B) || !fresh, "an entry comes as the queue is cleared")
  assert(!enters || leaves || io.clear || count =/= entries.U, "more entries than places")
}

object RingQueue {

  /** Makes one and returns its output. */
  def apply[T <: Data](valid: Bool, bits: T, entries: Int, clear: Bool): DecoupledIO[T] = {
    val queue = Module(new RingQueue(chiselTypeOf(bits), entries))
    queue.io.in.valid := valid
    queue.io.in.bits := bits
    queue.io.clear := clear
    queue.io.out
  }
}
