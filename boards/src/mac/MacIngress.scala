// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.mac

import chisel3._
import chisel3.util._
import sallyport.boards.clocks.{AsyncFifo, CrossingReset, EventCrossing, ResetSynchronizer}
import sallyport.common.stream.{MacBeat, PacketStream}

/**
 * Frames from the MAC (322.265625 MHz) to the core (300 MHz), whose clock and reset are this
 * module's own.
 *
 * Neither side can be held back. The core takes a beat a cycle, and a wire brings fewer: 281 M/s at
 * most (frames of 69 bytes, two beats each). The queue of 64 holds beats that come faster for a
 * while. A frame that meets a full queue is cut: its last beat has `error`; one that begins while
 * there is no room is left out whole. `overflow` has a pulse for each frame of both kinds.
 *
 * A reset of either side empties the queue. A frame that has partly reached the core then ends with
 * a beat of one byte with `error`. If the MAC was inside a frame, the rest of that frame is left
 * out. Latency: 4 cycles of the MAC's clock and 8 of the core's.
 */
class MacIngress extends Module {
  val io = IO(new Bundle {
    val macClock = Input(Clock())

    /** Of the MAC, in its clock: the first beat that comes after it begins a frame. */
    val macReset = Input(Bool())
    val in = Flipped(Valid(new CmacBeat))
    val out = Valid(new MacBeat)
    val overflow = Output(Bool())

    /** The way is in reset. */
    val inReset = Output(Bool())
  })

  private val starts = (ResetSynchronizer(io.macClock, reset.asBool), reset.asBool)
  private val (mac, core) = CrossingReset(io.macClock, clock, starts, Some(io.macReset))
  io.inReset := core.reset
  private val fifo = Module(new AsyncFifo(new MacBeat, 64, spare = 1))
  fifo.write := mac
  fifo.read := core

  private val lost = withClockAndReset(io.macClock, io.macReset) {
    val came = RegNext(io.in.bits)
    val valid = RegNext(RegNext(io.in.valid, false.B), false.B)
    val beat = Reg(new MacBeat)
    beat.data := came.data
    beat.last := came.last
    beat.bytes := MacIngress.bytes(came.keep)
    beat.error := came.error

    // Where the MAC is in its frame, and whether the frame is in the queue, so far.
    val inside = RegInit(false.B)
    val storing = withReset(mac.reset)(RegInit(false.B))
    val stores = valid && Mux(inside, storing, fifo.room)
    when(valid) {
      inside := !beat.last
      storing := stores && fifo.room && !beat.last
    }
    fifo.in.valid := stores
    fifo.in.bits := beat
    fifo.in.bits.last := beat.last || !fifo.room
    fifo.in.bits.error := beat.error || !beat.last
    val isLost = valid && !fifo.room && Mux(inside, storing && !beat.last, true.B)
    RegNext(isLost && !mac.reset, false.B)
  }
  io.overflow := EventCrossing(mac, core, lost)

  fifo.out.ready := true.B
  // The core is inside a frame. A reset ends it: nothing of it comes any more.
  private val inside = RegInit(false.B)
  private val comes = Mux(core.reset, inside, fifo.out.valid)
  private val last = core.reset || fifo.out.bits.last
  when(comes) { inside := !last }
  io.out.valid := RegNext(comes, false.B)
  io.out.bits.data := RegNext(fifo.out.bits.data)
  io.out.bits.last := RegNext(last)
  io.out.bits.bytes := RegNext(Mux(core.reset, 1.U, fifo.out.bits.bytes))
  io.out.bits.error := RegNext(core.reset || (fifo.out.bits.last && fifo.out.bits.error))
}

object MacIngress {

  /**
   * Bytes that `keep` names, which is ones from bit 0 on: bit n of the number is high in every
   * second run of 2^n ones.
   */
  def bytes(keep: UInt): UInt = {
    val counts = PacketStream.dataBytes
    def reached(n: Int) = if (n > counts) false.B else keep(n - 1)
    VecInit.tabulate(log2Ceil(counts + 1)) { bit =>
      val run = 1 << bit
      (run to counts by 2 * run).map(n => reached(n) && !reached(n + run)).reduce(_ || _)
    }.asUInt
  }
}
