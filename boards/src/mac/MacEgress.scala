// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.mac

import chisel3._
import chisel3.util._
import sallyport.boards.clocks.{AsyncFifo, CrossingReset, ResetSynchronizer, SlrPipe}
import sallyport.common.stream.{MacBeat, PacketStream, RegisterSlice}

/**
 * Frames from the core (300 MHz), whose clock and reset are this module's own, to the MAC
 * (322.265625 MHz).
 *
 * A frame leaves when it is whole in the queue, a beat whenever the MAC takes one: `valid` never
 * falls inside a frame. The queue has 32 KiB, so that frames of 9600 bytes and their tags fit
 * twice. `in` waits while the queue is full, and while the MAC is in reset. Frames of 503 beats or
 * more would never leave. `error` on the last beat goes with it.
 *
 * The core may be in another SLR: the [[SlrPipe]] behind `in` has registers for the border.
 *
 * A reset of either side empties the queue. A frame that has partly reached the MAC then ends with
 * a beat of one byte with `error`, so it is sent with a bad FCS. If the core was inside a frame,
 * the rest of that frame is left out, as are frames in the queue. Latency from the last beat: 7
 * cycles and about 10 of the MAC's clock.
 */
class MacEgress extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Decoupled(new MacBeat))
    val macClock = Input(Clock())

    /** Of the MAC, in its clock. */
    val macReset = Input(Bool())
    val out = Decoupled(new CmacBeat)

    /** The way is in reset. */
    val inReset = Output(Bool())
  })

  private val starts = (ResetSynchronizer(io.macClock, reset.asBool), reset.asBool)
  private val (mac, core) = CrossingReset(io.macClock, clock, starts, Some(io.macReset))
  io.inReset := core.reset
  private val fifo = Module(
    new AsyncFifo(new MacBeat, 512, spare = SlrPipe.spare, isLast = Some((beat: MacBeat) => beat.last))
  )
  fifo.write := core
  fifo.read := mac

  private val pipe = Module(new SlrPipe(new MacBeat))
  pipe.io.in <> io.in
  pipe.io.room := fifo.room

  // Where the core is in its frame, and whether all of the frame so far is in the queue.
  private val beat = pipe.io.out
  private val inside = RegInit(false.B)
  private val storing = withReset(core.reset)(RegInit(false.B))
  private val stores = beat.valid && (!inside || storing)
  when(beat.valid) {
    inside := !beat.bits.last
    storing := stores && !beat.bits.last
  }
  fifo.in.valid := stores
  fifo.in.bits := beat.bits

  withClockAndReset(io.macClock, io.macReset) {
    val slice = Module(new RegisterSlice(new CmacBeat))
    // The MAC is inside a frame. A reset ends it, once the MAC takes its end.
    val sending = RegInit(false.B)
    val ending = RegInit(false.B)
    val stop = mac.reset || ending
    slice.io.in.valid := Mux(stop, sending, fifo.out.valid)
    slice.io.in.bits.data := fifo.out.bits.data
    slice.io.in.bits.keep := Mux(stop, 1.U, MacEgress.keep(fifo.out.bits.bytes))
    slice.io.in.bits.last := stop || fifo.out.bits.last
    slice.io.in.bits.error := stop || (fifo.out.bits.last && fifo.out.bits.error)
    fifo.out.ready := slice.io.in.ready && !stop
    when(slice.io.in.fire) { sending := !slice.io.in.bits.last }
    ending := stop && sending && !slice.io.in.ready
    io.out <> slice.io.out
  }
}

object MacEgress {

  /** As many ones from bit 0 on as the beat has bytes. */
  def keep(bytes: UInt): UInt = VecInit.tabulate(PacketStream.dataBytes)(byte => bytes > byte.U).asUInt
}
