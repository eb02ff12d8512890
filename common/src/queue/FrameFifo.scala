// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketBeat, PacketStream}

/** What a [[FrameFifo]] does when it is full. */
sealed trait WhenFull

object WhenFull {

  /** The input waits. */
  case object Stall extends WhenFull

  /** The input never waits; the packet that does not fit is dropped whole. */
  case object Drop extends WhenFull
}

/**
 * Parameters of a [[FrameFifo]].
 *
 * @param beats rows of the data memory, a power of two
 * @param frames packets it holds at most, a power of two; as many as beats by default, so that it
 *   never limits
 * @param whenFull stall or drop
 */
case class FrameFifoParams(beats: Int, frames: Int, whenFull: WhenFull) {
  require(isPow2(beats) && beats >= 4, s"FrameFifo of $beats beats: make it a power of two, 4 or more")
  require(
    isPow2(frames) && frames >= 2 && frames <= beats,
    s"FrameFifo of $frames frames: make it a power of two, 2 to $beats"
  )
}

object FrameFifoParams {
  def apply(beats: Int, whenFull: WhenFull): FrameFifoParams = FrameFifoParams(beats, beats, whenFull)
}

/**
 * Store-and-forward FIFO of packets: a packet leaves only when its last beat is in.
 *
 * Drops, whole: a packet whose last beat has `error` (`droppedError`); a packet that does not fit
 * (`droppedOverflow`): under `Drop` one that meets a full memory, under either one that is longer
 * than the memory. One pulse a packet, in the cycle after its last beat; a packet that is both
 * counts as an error. Under `Stall` the input waits while the memory is full; under `Drop`
 * `in.ready` is constant.
 *
 * Metadata is stored once a packet, as it is on the last beat; every output beat carries it. Output
 * `error` is never set.
 *
 * One beat a cycle, and a one-beat packet every cycle. From last input beat to first output beat: 3
 * cycles when empty. `in.ready` and every output come from registers.
 */
class FrameFifo[M <: Data](meta: M, params: FrameFifoParams) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val out = PacketStream(meta)
    val droppedError = Output(Bool())
    val droppedOverflow = Output(Bool())
  })

  private val store = Module(new FrameStore(meta, params))
  store.io.in <> io.in
  io.droppedError := store.io.droppedError
  io.droppedOverflow := store.io.droppedOverflow

  private val slice = Module(new ReadSlice(new PacketBeat(meta)))
  slice.io.want := store.io.waiting
  store.io.read := slice.io.read
  slice.io.data := store.io.beat
  slice.io.pass.valid := false.B
  slice.io.pass.bits := DontCare
  io.out <> slice.io.out
}
