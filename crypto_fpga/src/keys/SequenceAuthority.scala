// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._

/** One outbound packet that wants a sequence number, with the limits of its key row. */
class SequenceRequest(saBits: Int, bits: Int) extends Bundle {
  val sa = UInt(saBits.W)

  /**
   * False: the packet passes through without a number and without a trace (it has no key, or is
   * bypassed).
   */
  val take = Bool()

  val esn = Bool()

  /** 0 = no limit given. */
  val softLimit = UInt(bits.W)

  /** The last number that may be given out; 0 = no limit given. */
  val hardLimit = UInt(bits.W)
}

class SequenceGrant(bits: Int) extends Bundle {
  val granted = Bool()

  /** 0 if not granted. */
  val sequence = UInt(bits.W)
}

/** An SA's counter is to be at least `number`. */
class SequenceRaise(saBits: Int, bits: Int) extends Bundle {
  val sa = UInt(saBits.W)
  val number = UInt(bits.W)
}

/**
 * The only owner of outbound sequence numbers, and so of every nonce (RFC 4303 3.3.3, RFC 4106 3.1;
 * docs/explanation/security.md).
 *
 * Guarantees, for each SA between two restarts:
 *   - The first number is 1, and each next number is one more. No packet asks for another.
 *   - No number is above `hardLimit`, above 2^32-1 without ESN, or above 2^64-1 with ESN.
 *   - After the first refusal every request is refused.
 *   - Only `restart` lowers a counter: the key row was written, and the counter starts anew.
 *   - After `raise` the next number is one above the raised one, if the counter was lower
 *     (fail-over).
 *
 * It takes one request every 2 cycles, of any SAs. Consecutive requests may be of one SA: the
 * counter is forwarded. The grant follows exactly `SequenceAuthority.latency` cycles later, in
 * order, and never waits.
 *
 * `restart` and `raise` may come only while no request with `take` is under way. So no packet pairs
 * the key of one row with the counter of another, and no raise misses a packet. For 3 cycles after
 * a raise neither of the two may come, nor a request with `take`.
 *
 * `last` shows the counter before a raise, from `raiseLatency` cycles after the raise. `softLimit`
 * pulses once per SA and restart, when the granted number reaches the soft limit.
 *
 * @param bits width of a number with ESN; without ESN half of them count. 64, but for tests that
 *   reach the end
 */
class SequenceAuthority(saBits: Int, bits: Int = 64) extends Module {
  require(saBits >= 1 && saBits <= 16, s"saBits is $saBits; the link header carries an SA index of 1 to 16 bits")
  require(
    bits >= 16 && bits <= 64 && bits % 2 == 0,
    s"bits is $bits; a sequence number has 64, and 16 at least in a test"
  )

  val io = IO(new Bundle {
    val request = Flipped(Valid(new SequenceRequest(saBits, bits)))
    val grant = Valid(new SequenceGrant(bits))
    val restart = Flipped(Valid(UInt(saBits.W)))
    val raise = Flipped(Valid(new SequenceRaise(saBits, bits)))
    val last = Output(UInt(bits.W))
    val softLimit = Valid(UInt(saBits.W))
  })

  private class Counter extends Bundle {
    val exhausted = Bool()
    val softSeen = Bool()
    val last = UInt(bits.W)
  }

  private val counters = SyncReadMem(1 << saBits, new Counter)

  // Stage 1: the memory answers. Stage 2: candidate. Stage 3: limits. Stage 4: grant and
  // write back.
  private val valid1 = RegNext(io.request.valid, false.B)
  private val request1 = RegEnable(io.request.bits, io.request.valid)
  private val readSa = Mux(io.raise.valid, io.raise.bits.sa, io.request.bits.sa)
  private val read1 = counters.read(readSa, io.request.valid || io.raise.valid)

  private val valid2 = RegNext(valid1, false.B)
  private val request2 = RegEnable(request1, valid1)
  private val read2 = RegEnable(read1, valid1)

  private val valid3 = RegNext(valid2, false.B)
  private val request3 = RegEnable(request2, valid2)
  private val taking3 = valid3 && request3.take

  // The two newest results: what the memory does not show yet to a request two or four
  // cycles behind.
  private val newest = Reg(new Counter)
  private val newestSa = Reg(UInt(saBits.W))
  private val newestValid = RegInit(false.B)
  private val older = Reg(new Counter)
  private val olderSa = Reg(UInt(saBits.W))
  private val olderValid = RegInit(false.B)

  // Matches are made a stage ahead, against what `newest` and `older` hold in the next cycle.
  private val matchNewest = RegNext(Mux(taking3, request3.sa === request1.sa, newestValid && newestSa === request1.sa))
  private val matchOlder =
    RegNext(Mux(taking3, newestValid && newestSa === request1.sa, olderValid && olderSa === request1.sa))

  private val current2 = Mux(matchNewest, newest, Mux(matchOlder, older, read2))
  private val current3 = RegEnable(current2, valid2)
  private val candidate3 = RegEnable(current2.last +& 1.U, valid2)

  private val number3 = candidate3(bits - 1, 0)
  private val beyond3 = candidate3(bits) || (!request3.esn && number3(bits - 1, bits / 2) =/= 0.U) ||
    (request3.hardLimit =/= 0.U && number3 > request3.hardLimit)
  private val granted3 = request3.take && !beyond3 && !current3.exhausted
  private val soft3 = granted3 && request3.softLimit =/= 0.U && number3 >= request3.softLimit && !current3.softSeen

  private val next3 = Wire(new Counter)
  next3.exhausted := current3.exhausted || beyond3
  next3.softSeen := current3.softSeen || soft3
  next3.last := Mux(granted3, number3, current3.last)

  when(taking3) {
    newest := next3
    newestSa := request3.sa
    newestValid := true.B
    older := newest
    olderSa := newestSa
    olderValid := newestValid
  }
  when(io.restart.valid || io.raise.valid) {
    newestValid := false.B
    olderValid := false.B
  }

  // A raise: the memory answers, the comparison has a stage to itself, then the counter is
  // written back.
  private val raised1 = RegNext(io.raise.valid, false.B)
  private val raised2 = RegNext(raised1, false.B)
  private val raised3 = RegNext(raised2, false.B)
  private val raise = RegEnable(io.raise.bits, io.raise.valid)
  private val before = RegEnable(read1, raised1)
  private val higher = RegNext(raise.number > before.last)
  private val raised = WireDefault(before)
  when(higher) { raised.last := raise.number }
  io.last := before.last

  private val took4 = RegNext(taking3, false.B)
  private val zero = 0.U.asTypeOf(new Counter)
  when(took4 || io.restart.valid || raised3) {
    counters.write(
      Mux(io.restart.valid, io.restart.bits, Mux(raised3, raise.sa, newestSa)),
      Mux(io.restart.valid, zero, Mux(raised3, raised, newest))
    )
  }

  io.grant.valid := RegNext(valid3, false.B)
  io.grant.bits.granted := RegNext(granted3)
  io.grant.bits.sequence := RegNext(Mux(granted3, number3, 0.U))
  io.softLimit.valid := RegNext(valid3 && soft3, false.B)
  io.softLimit.bits := newestSa

  assert(!(io.request.valid && valid1), "requests must be two cycles apart")
  private val taking =
    Seq(io.request.valid && io.request.bits.take, valid1 && request1.take, valid2 && request2.take, taking3, took4)
  private val raising = Seq(io.raise.valid, raised1, raised2, raised3).reduce(_ || _)
  assert(!io.restart.valid || !taking.reduce(_ || _), "restart while a packet is between key and number")
  assert(!raising || !taking.reduce(_ || _), "raise while a packet is between key and number")
  assert(!raising || !io.restart.valid, "raise and restart at once")
  assert(!raised3 || raised.last >= before.last && raised.last >= raise.number, "a raise must not lower a counter")
  assert(!(valid3 && granted3 && number3 <= current3.last), "a sequence number must be above the last")
}

object SequenceAuthority {

  /** Cycles from a request to its grant. */
  val latency = 4

  /** Cycles from a raise to `last`. */
  val raiseLatency = 2
}
