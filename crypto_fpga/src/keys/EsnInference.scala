// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._
import sallyport.common.memory.{MemoryPipe, RowForward, RowMemory}

/** An inbound packet whose 64-bit sequence number is wanted. */
class EsnRequest extends Bundle {
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
 * order, and never waits. `next` says the SA of a request `EsnInference.ahead` cycles before it, so
 * that the memory answers in time. Without ESN the high half is 0. With T the highest verified
 * number (Th, Tl its halves) and W the window: if Tl >= W-1 the window lies in one subspace and a
 * low half below its bottom belongs to Th+1; otherwise it spans two and a low half at or above its
 * bottom belongs to Th-1. Arithmetic is modulo 2^32 as in the RFC: with T = 0 a low half just
 * under 2^32 gives Th-1 = 2^32-1, and the ICV, which covers the high half, refuses it.
 *
 * `update` raises T to a verified number and never lowers it; it is taken between requests, so at
 * least every other cycle. A request that sees a T of a few packets ago infers the same: packets
 * inside the chip are few against 2^31. `restart` sets T to 0 when the key row is written and
 * forgets the updates that wait or are under way. It may come only while no request with `esn` is
 * on its way, and the `next` of such a one two cycles later at the soonest.
 */
class EsnInference(saBits: Int) extends Module {
  import EsnInference.ahead
  require(saBits >= 1 && saBits <= 16, s"saBits is $saBits; the link header carries an SA index of 1 to 16 bits")

  val io = IO(new Bundle {
    val next = Flipped(Valid(UInt(saBits.W)))
    val request = Flipped(Valid(new EsnRequest))
    val sequence = Valid(UInt(64.W))
    val update = Flipped(Decoupled(new EsnUpdate(saBits)))

    /** There is room for two updates. */
    val ample = Output(Bool())
    val restart = Flipped(Valid(UInt(saBits.W)))
  })

  private val memory = Module(new RowMemory(1 << saBits, 64, EsnInference.pipe))
  private val highest = Module(new RowForward(saBits, 64, EsnInference.pipe.latency))
  memory.io.read := highest.io.read
  highest.io.stored := memory.io.row
  memory.write(highest.io.write.valid, highest.io.write.bits.index, highest.io.write.bits.data)
  private val updates = Module(new Queue(new EsnUpdate(saBits), EsnInference.updates, hasFlush = true))
  updates.io.enq <> io.update
  io.ample := updates.io.count <= (EsnInference.updates - 2).U
  updates.io.flush.get := io.restart.valid

  // The read port serves requests first; updates take it two cycles apart at the closest.
  private val took = RegInit(false.B)
  private val free = !io.next.valid && !took && !io.restart.valid
  private val take = updates.io.deq.valid && free
  updates.io.deq.ready := free
  took := take
  highest.io.read.valid := io.next.valid || take
  highest.io.read.bits := Mux(io.next.valid, io.next.bits, updates.io.deq.bits.sa)

  // Update: a register behind the number that is there, compare and write.
  private val comparedAt = highest.latency + 1
  private val compares = Seq.iterate(take, comparedAt + 1)(taken => RegNext(taken && !io.restart.valid, false.B)).last
  private val verified = ShiftRegister(updates.io.deq.bits.sequence, comparedAt)
  private val old = RegNext(highest.io.state)
  highest.io.update.valid := compares && verified > old && !io.restart.valid
  highest.io.update.bits := verified
  highest.io.set.valid := io.restart.valid
  highest.io.set.bits.index := io.restart.bits
  highest.io.set.bits.data := 0.U

  // Request: stage 2 finds the window's bottom, stage 3 the half, stage 4 answers.
  private val valid1 = RegNext(io.request.valid, false.B)
  private val request1 = RegEnable(io.request.bits, io.request.valid)
  private val valid2 = RegNext(valid1, false.B)
  private val request2 = RegEnable(request1, valid1)
  private val reach2 = RegEnable(EsnInference.window(request1.window) - 1.U, valid1)
  private val highest2 = RegEnable(highest.io.state, valid1)
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
  private val restarts = Seq.iterate(io.restart.valid, ahead + 2)(RegNext(_, false.B)).reduce(_ || _)
  assert(!(io.request.valid && io.request.bits.esn && restarts), "a number was read before its restart")
  assert(!io.request.valid || ShiftRegister(io.next.valid, ahead, false.B, true.B), "a request that no `next` told")
}

object EsnInference {

  private val pipe = MemoryPipe.banks

  /** Cycles from `next` to its request, which meets the number that is there a cycle later. */
  val ahead: Int = pipe.latency

  /** Cycles from a request to its sequence number. */
  val latency = 4

  /** Updates that wait at most. */
  private val updates = 4

  /** RFC 4303 3.4.3: a window of 64 is the preferred default, and the smallest this box has. */
  val minimumWindow = 64

  private def window(configured: UInt): UInt = Mux(configured < minimumWindow.U, minimumWindow.U(16.W), configured)
}
