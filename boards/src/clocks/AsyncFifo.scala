// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.clocks

import chisel3._
import chisel3.util._
import sallyport.common.memory.MemoryBinding
import sallyport.common.queue.ReadSlice

/**
 * A first-in first-out queue between two clocks of any ratio.
 *
 * One word a cycle of either clock. `in.ready`, `room`, `out.valid` and the bits are registers. The
 * input is ready, or has room, while `spare` and 3 more places are free as far as this side can
 * know. The 3 are for words that come while the count of free places is on its way. Latency from a
 * write to `out.valid`: 2 cycles of the writer and 7 to 8 of the reader; a place that is read is
 * free again for the writer after as much the other way round, so a stream without pauses needs
 * `depth` of 32 where the clocks are about equal.
 *
 * With `isLast` the reader sees words of whole frames alone, so a frame that has begun to leave can
 * be read to its end without a pause. Then no frame may be longer than `depth - 3` words: it would
 * never leave.
 *
 * The sides are reset together: by [[CrossingReset]]. The queue is then empty and takes its first
 * word after the reset. Rows of the memory are written by one clock and read, into a register, by
 * the other: LUT RAM up to 64 rows, block RAM above (`MemoryBinding`). Constraint:
 * boards/constraints/AsyncFifo.tcl.
 *
 * @param depth  rows of the memory, a power of two, 16 or more
 * @param spare  words that find a place although `room` is low when they come, however late: for a
 *               sender that sees it late, and looks at nothing else; `in.ready` then only says that
 *               there is no reset
 * @param isLast whether a word is the last of its frame
 */
class AsyncFifo[T <: Data](gen: T, depth: Int, spare: Int = 0, isLast: Option[T => Bool] = None) extends RawModule {
  require(isPow2(depth) && depth >= 16, s"AsyncFifo of $depth words: make it a power of two, 16 or more")
  require(depth < MemoryBinding.uramRows, s"AsyncFifo of $depth words: make it fewer, since a URAM has one clock")
  require(spare < depth - 3, s"$spare spare words in an AsyncFifo of $depth: make them fewer than ${depth - 3}")
  override def desiredName = "AsyncFifo"

  val write = IO(Input(new ClockSide))
  val in = IO(Flipped(Decoupled(gen)))

  /** `spare` more words find a place, and those that come while this is high. */
  val room = IO(Output(Bool()))

  val read = IO(Input(new ClockSide))
  val out = IO(Decoupled(gen))

  // Pointers have a bit more than addresses, so that full and empty differ.
  private val bits = log2Ceil(depth) + 1
  private val memory = SyncReadMem(depth, UInt(gen.getWidth.W))
  private val published = Wire(UInt(bits.W))
  private val freed = Wire(UInt(bits.W))

  withClockAndReset(write.clock, write.reset) {
    val written = RegInit(0.U(bits.W))
    val following = written + 1.U
    when(in.fire) {
      memory.write(written(bits - 2, 0), in.bits.asUInt, write.clock)
      written := following
    }
    // A word that comes in this cycle or the last two is not counted yet.
    val gone = GrayCrossing(read, write, freed)
    val used = RegNext(written - gone, 0.U(bits.W))
    assert(!in.fire || written - gone =/= depth.U, "more words than there are to spare")
    // With some to spare, `room` alone holds the sender back.
    in.ready := RegNext(if (spare == 0) used <= (depth - 3).U else true.B, false.B)
    room := RegNext(used <= (depth - 3 - spare).U, false.B)
    published := isLast.fold(written)(last => RegEnable(following, 0.U(bits.W), in.fire && last(in.bits)))
  }

  private val seen =
    if (isLast.isEmpty) GrayCrossing(write, read, published) else ValueCrossing(write, read, published)

  withClockAndReset(read.clock, read.reset) {
    val place = RegInit(0.U(bits.W))
    val slice = Module(new ReadSlice(UInt(gen.getWidth.W)))
    // Words that were there a cycle ago, up to 3. Reads of that cycle and of this one are not in
    // it yet.
    val waiting = seen - place
    val some = RegNext(Mux(waiting >= 3.U, 3.U, waiting(1, 0)), 0.U(2.W))
    val reads = slice.io.read +& RegNext(slice.io.read, false.B)
    slice.io.want := RegNext(some > reads, false.B)
    slice.io.data := memory.read(place(bits - 2, 0), slice.io.read, read.clock)
    slice.io.pass.valid := false.B
    slice.io.pass.bits := DontCare
    when(slice.io.read) { place := place + 1.U }
    freed := place
    out.valid := slice.io.out.valid
    out.bits := slice.io.out.bits.asTypeOf(gen)
    slice.io.out.ready := out.ready
  }
}
