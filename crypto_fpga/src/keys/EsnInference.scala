// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._

/** An inbound packet whose 64-bit sequence number is wanted. */
class EsnRequest(saBits: Int) extends Bundle {
  val sa = UInt(saBits.W)
  val esn = Bool()

  /**
   * Anti-replay window of the key row; values under [[EsnInference.minimumWindow]] count
   * as that.
   */
  val window = UInt(16.W)

  /** Low half, from the packet. */
  val low = UInt(32.W)
}

/** A packet whose ICV is good. */
class EsnUpdate(saBits: Int) extends Bundle {
  val sa = UInt(saBits.W)
  val sequence = UInt(64.W)
}

/**
 * High half of an inbound sequence number (RFC 4303 appendix A2.2) from the highest number verified
 * on its SA, which is kept here.
 *
 * One request every 2 cycles; `sequence` follows exactly `EsnInference.latency` cycles later, in
 * order, and never waits. Without ESN the high half is 0. With T the highest verified number (Th,
 * Tl its halves) and W the window: if Tl >= W-1 the window lies in one subspace and a low half
 * below its bottom belongs to Th+1; otherwise it spans two and a low half at or above its bottom
 * belongs to Th-1. Arithmetic is modulo 2^32 as in the RFC: with T = 0 a low half just under 2^32
 * gives Th-1 = 2^32-1, and the ICV, which covers the high half, refuses it.
 *
 * `update` raises T to a verified number and never lowers it; it is taken between requests, so at
 * least every other cycle. A request that sees a T of a few packets ago infers the same: packets
 * inside the chip are few against 2^31. `restart` sets T to 0 when the key row is written and
 * forgets the updates that wait; it may come only while no request with `esn` is on its way.
 */
class EsnInference(saBits: Int) extends Module {
  require(saBits >= 1 && saBits <= 16, s"saBits is $saBits; the link header carries an SA index of 1 to 16 bits")

  val io = IO(new Bundle {
    val request = Flipped(Valid(new EsnRequest(saBits)))
    val sequence = Valid(UInt(64.W))
    val update = Flipped(Decoupled(new EsnUpdate(saBits)))

    /** There is room for two updates. */
    val ample = Output(Bool())
    val restart = Flipped(Valid(UInt(saBits.W)))
  })

  private val highest = SyncReadMem(1 << saBits, UInt(64.W))
  private val updates = Module(new Queue(new EsnUpdate(saBits), EsnInference.updates, hasFlush = true))
  updates.io.enq <> io.update
  io.ample := updates.io.count <= (EsnInference.updates - 2).U
  updates.io.flush.get := io.restart.valid

  // The read port serves requests first; updates take it two cycles apart at the closest.
  private val taken1 = RegInit(false.B)
  private val free = !io.request.valid && !taken1 && !io.restart.valid
  private val take = updates.io.deq.valid && free
  updates.io.deq.ready := free
  taken1 := take

  private val write = Wire(Valid(new EsnUpdate(saBits)))
  private val readSa = Mux(io.request.valid, io.request.bits.sa, updates.io.deq.bits.sa)
  private val reading = io.request.valid || take
  private val stored1 = highest.read(readSa, reading)

  // A row written in the cycle of its read or in the next one is taken from the write port.
  private val readSa1 = RegEnable(readSa, reading)
  private val written1 = RegNext(write.valid && write.bits.sa === readSa, false.B)
  private val writtenValue1 = RegNext(write.bits.sequence)
  private val writing1 = write.valid && write.bits.sa === readSa1
  private val read1 = Mux(writing1, write.bits.sequence, Mux(written1, writtenValue1, stored1))

  // Update: compare in stage 2, write in stage 3.
  private val update1 = RegEnable(updates.io.deq.bits, take)
  private val taken2 = RegNext(taken1 && !io.restart.valid, false.B)
  private val update2 = RegEnable(update1, taken1)
  private val old2 = RegEnable(read1, taken1)
  private val raise3 = RegNext(taken2 && update2.sequence > old2 && !io.restart.valid, false.B)
  private val update3 = RegEnable(update2, taken2)
  write.valid := raise3 || io.restart.valid
  write.bits.sa := Mux(io.restart.valid, io.restart.bits, update3.sa)
  write.bits.sequence := Mux(io.restart.valid, 0.U, update3.sequence)
  when(write.valid) { highest.write(write.bits.sa, write.bits.sequence) }

  // Request: stage 2 finds the window's bottom, stage 3 the half, stage 4 answers.
  private val valid1 = RegNext(io.request.valid, false.B)
  private val request1 = RegEnable(io.request.bits, io.request.valid)
  private val valid2 = RegNext(valid1, false.B)
  private val request2 = RegEnable(request1, valid1)
  private val reach2 = RegEnable(EsnInference.window(request1.window) - 1.U, valid1)
  private val highest2 = RegEnable(read1, valid1)
  private val highHalf2 = highest2(63, 32)
  private val lowHalf2 = highest2(31, 0)

  private val valid3 = RegNext(valid2, false.B)
  private val request3 = RegEnable(request2, valid2)
  private val bottom3 = RegEnable(lowHalf2 - reach2, valid2)
  private val oneSubspace3 = RegEnable(lowHalf2 >= reach2, valid2)
  private val same3 = RegEnable(highHalf2, valid2)
  private val above3 = RegEnable(highHalf2 + 1.U, valid2)
  private val below3 = RegEnable(highHalf2 - 1.U, valid2)
  private val inWindow3 = request3.low >= bottom3
  private val high3 = Mux(
    oneSubspace3,
    Mux(inWindow3, same3, above3),
    Mux(inWindow3, below3, same3)
  )
  io.sequence.valid := RegNext(valid3, false.B)
  io.sequence.bits := RegEnable(Mux(request3.esn, high3, 0.U) ## request3.low, valid3)

  assert(!(io.request.valid && valid1), "requests must be two cycles apart")
  private val inferring =
    Seq(io.request.valid && io.request.bits.esn, valid1 && request1.esn, valid2 && request2.esn, valid3 && request3.esn)
  assert(!io.restart.valid || !inferring.reduce(_ || _), "restart while a packet is between key and number")
}

object EsnInference {

  /** Cycles from a request to its sequence number. */
  val latency = 4

  /** Updates that wait at most. */
  private val updates = 4

  /** RFC 4303 3.4.3: a window of 64 is the preferred default, and the smallest this box has. */
  val minimumWindow = 64

  private def window(configured: UInt): UInt = Mux(configured < minimumWindow.U, minimumWindow.U(16.W), configured)
}
