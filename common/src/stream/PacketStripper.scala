// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.ByteShift
import sallyport.common.clock.ClockGate

/**
 * Takes the first bytes of every packet away and cuts it to a length: link-layer header off,
 * padding off.
 *
 * `offset` and `length` read both numbers from the metadata. Bytes above the new length are zero. A
 * packet that has fewer than `offset + length` bytes comes out with `error` on its last beat; an
 * input `error` comes out if the beat that carries it holds a byte that is kept or stands directly
 * behind one that does, so put a [[FrameFifo]] in front where broken packets may come. Never drops.
 *
 * One beat a cycle. Latency `3 + ByteShift.stages` cycles (at least 4) from the beat that completes
 * an output beat. Registered both ways. The clock stops while the module is empty.
 *
 * @param offsets the values that `offset` can have, below 128; those of one static header or the
 *   few that IPv4 header lengths give
 * @param offset bytes to take away
 * @param length bytes to keep, at least 1
 */
class PacketStripper[M <: Data](meta: M, offsets: Seq[Int])(offset: M => UInt, length: M => UInt) extends Module {
  require(
    offsets.nonEmpty && offsets.forall(o => o >= 0 && o < 128),
    s"PacketStripper with offsets $offsets: 0 to 127 are possible"
  )

  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val out = PacketStream(meta)
  })

  private val stirs = Wire(Bool())
  private val running = ClockGate(clock, io.in.valid || stirs || reset.asBool)
  override protected def implicitClock: Clock = running

  private val shifts = offsets.map(_ % 64).distinct
  private val shiftStages = ByteShift.stages(shifts) max 1
  private val outlet = Module(new PipelineOutlet(new PacketBeat(meta), shiftStages + 8))
  io.in.ready := outlet.io.ready
  outlet.io.take := io.in.fire
  stirs := !outlet.io.empty || outlet.io.out.valid
  io.out <> outlet.io.out

  // A beat waits here until its successor is known; the two give one output beat.
  private val current = Reg(new PacketBeat(meta))
  private val currentValid = RegInit(false.B)
  private val event = currentValid && (current.last || io.in.fire)
  when(io.in.fire) { current := io.in.bits }
  currentValid := io.in.fire || (currentValid && !event)

  // Where the packet stands.
  private val skipped = RegInit(false.B)
  private val started = RegInit(false.B)
  private val done = RegInit(false.B)
  private val left = Reg(UInt(PacketStream.lengthBits.W))
  private val amount = offset(current.meta).pad(7)
  private val remaining = Mux(started, left, length(current.meta))
  private val skip = amount(6) && !skipped
  private val emit = event && !done && (!skip || current.last)
  private val complete = remaining <= 64.U
  when(event) {
    skipped := !current.last
    started := !current.last && emit || started && !current.last
    done := !current.last && (done || (emit && complete))
    left := remaining - 64.U
  }
  outlet.io.cancel := event && !emit

  private class Stage extends Bundle {
    val last = Bool()
    val complete = Bool()
    val remaining = UInt(7.W)
    val shift = UInt(6.W)

    /**
     * Bytes that the packet has from the start of the pair's first beat, if it ends in
     * the pair.
     */
    val have = UInt(8.W)
    val error = Bool()
    val meta = chiselTypeOf(current.meta)
  }
  private val pair = Reg(UInt((2 * PacketStream.dataBits).W))
  private val stage = Reg(new Stage)
  private val next = io.in.bits
  pair := Cat(Mux(current.last, 0.U, next.data), current.data)
  stage.last := complete || current.last
  stage.complete := complete
  stage.remaining := Mux(complete, remaining(6, 0), 64.U)
  stage.shift := amount(5, 0)
  stage.have := Mux(current.last, Mux(skip, 0.U, current.bytes), 64.U +& Mux(next.last, next.bytes, 64.U))
  stage.error := Mux(current.last, current.error, next.last && next.error)
  stage.meta := current.meta
  private val stageValid = RegNext(emit, false.B)

  private val short = !stage.complete || stage.remaining +& stage.shift > stage.have
  private val delay = shiftStages - 1
  outlet.io.in.valid := ShiftRegister(stageValid, shiftStages, false.B, true.B)
  private val mask = RegNext(ByteShift.mask(stage.remaining))
  private val shifted = {
    val data = WireDefault(UInt(PacketStream.dataBits.W), ByteShift.right(pair, stage.shift, shifts, 64))
    if (ByteShift.stages(shifts) == 0) ShiftRegister(data, 1) else data
  }
  outlet.io.in.bits.data := ByteShift.keep(shifted, ShiftRegister(mask, delay))
  outlet.io.in.bits.last := ShiftRegister(stage.last, shiftStages)
  outlet.io.in.bits.bytes := ShiftRegister(stage.remaining, shiftStages)
  outlet.io.in.bits.error := ShiftRegister(RegNext(stage.last && (stage.error || short)), delay)
  outlet.io.in.bits.meta := ShiftRegister(stage.meta, shiftStages)
}
