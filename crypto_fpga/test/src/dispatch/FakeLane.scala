// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.crypto.lane.{LaneConfig, LanePorts, LaneResult, Verdict}
import sallyport.crypto.suite.Suite

/**
 * A lane as far as its ports go ([[LanePorts]]), with a toy for a cipher: bytes are XORed with byte
 * 0 of the key.
 *
 * The packet itself says how it fares: a first byte of 0xE0 + n gives verdict n, and the second
 * byte (mod 64) is a delay in cycles, so that lanes finish out of order. An encrypting one reports
 * the sequence number in the result's metadata.
 */
class FakeLane(config: LaneConfig) extends Module {
  val io = IO(new LanePorts)

  private class Kept extends Bundle {
    val result = new LaneResult
    val fast = Bool()
    val delay = UInt(6.W)
    val index = UInt(16.W)
  }

  private val fifo = Module(new FrameFifo(new Kept, FrameFifoParams(config.bufferBeats, config.slots, WhenFull.Stall)))

  // While keys are wiped nothing enters.
  private val wiping = RegInit(0.U(7.W))
  when(io.zeroize) { wiping := 80.U }.elsewhen(wiping =/= 0.U) { wiping := wiping - 1.U }

  private val first = RegInit(true.B)
  private val entered = RegInit(0.U(16.W))
  private val kept = Reg(new Kept)
  private val key = Reg(UInt(8.W))
  private val firstKept = Wire(new Kept)
  private val code = io.in.bits.data(7, 0)
  firstKept.result.meta := io.in.bits.meta.meta
  if (config.encrypt) firstKept.result.meta.sequence := io.in.bits.meta.sequence
  firstKept.result.verdict := Mux(code >= 0xe0.U, Verdict.safe(code(2, 0))._1, Verdict.ok)
  firstKept.fast := Suite.is(io.in.bits.meta.suite)(_.fast)
  firstKept.delay := io.in.bits.data(13, 8)
  firstKept.index := entered
  private val keyNow = Mux(first, io.in.bits.meta.key(7, 0), key)
  private val mask = (Fill(64, 1.U(1.W)) << io.in.bits.bytes)(63, 0)

  for (room <- io.room) room := RegNext(fifo.io.in.ready && wiping === 0.U, false.B)
  fifo.io.in.valid := io.in.valid && wiping === 0.U
  io.in.ready := fifo.io.in.ready && wiping === 0.U
  fifo.io.in.bits.data := io.in.bits.data ^ (Fill(64, keyNow) & ~FillInterleaved(8, mask))
  fifo.io.in.bits.bytes := io.in.bits.bytes
  fifo.io.in.bits.last := io.in.bits.last
  fifo.io.in.bits.error := false.B
  fifo.io.in.bits.meta := Mux(first, firstKept, kept)
  when(io.in.fire) {
    first := io.in.bits.last
    when(first) {
      kept := firstKept
      key := keyNow
      entered := entered + 1.U
    }
  }

  // A lane files each beat by the packet's suite, and measures the packet with its ICV.
  private val job = io.in.bits.meta
  private val filed = RegEnable(job.suite ## job.icv, io.in.fire && first)
  assert(!io.in.fire || first || (job.suite ## job.icv) === filed, "a packet's suite changed on its way into a lane")

  // Packets up to this one, if their output has not begun, are lost to a zeroize.
  private val lostBefore = RegInit(0.U(16.W))
  when(io.zeroize) { lostBefore := entered + (io.in.fire && first) }

  private val out = fifo.io.out
  private val state =
    // 0 waits, 1 sends a first beat, 2 passes the rest, 3 discards the rest, 4 offers
    RegInit(0.U(3.W))
  private val timer = RegInit(0.U(6.W))
  private val verdict = Reg(Verdict())
  when(timer =/= 0.U) { timer := timer - 1.U }
  private val granted = io.grant.reduce(_ || _)
  for ((offer, kind) <- io.offer.zipWithIndex)
    offer := RegNext(state === 4.U && out.bits.meta.fast === (kind == 1).B && !granted, false.B)
  when(state === 0.U && out.valid && timer === 0.U) { state := 4.U }
  when(granted) {
    state := 1.U
    verdict := Mux((out.bits.meta.index - lostBefore)(15), Verdict.zeroized, out.bits.meta.result.verdict)
    timer := out.bits.meta.delay
  }
  private val good = verdict === Verdict.ok
  io.out.valid := out.valid && (state === 1.U || state === 2.U)
  io.out.bits.data := Mux(good, out.bits.data, 0.U)
  io.out.bits.bytes := Mux(good, out.bits.bytes, 1.U)
  io.out.bits.last := Mux(good, out.bits.last, true.B)
  io.out.bits.error := !good
  io.out.bits.meta := out.bits.meta.result
  io.out.bits.meta.verdict := verdict
  out.ready := (io.out.ready && (state === 1.U || state === 2.U)) || state === 3.U
  when(out.fire) { state := Mux(out.bits.last, 0.U, Mux(good, 2.U, 3.U)) }

  io.busy := out.valid || !first || wiping =/= 0.U
}
