// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._
import sallyport.common.memory.CodedMemory

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

  /**
   * Each number ends with the lowest `nodeBits` bits of `node`. So boxes that share an SA, each
   * with a `node` of its own, give out no number twice, whatever happens to them.
   */
  val nodeBits = UInt(log2Ceil(SequenceAuthority.mostNodeBits + 1).W)
  val node = UInt(SequenceAuthority.mostNodeBits.W)
}

class SequenceGrant(bits: Int) extends Bundle {
  val granted = Bool()

  /** Not granted, because the counter is lost. */
  val spoiled = Bool()

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
 *   - Without `nodeBits` the first number is 1, and each next number is one more. With them a block
 *     of 2^nodeBits numbers has one of each node, the one that ends with its bits. Each next number
 *     is of the next block, and the first one of the second block. No packet asks for another.
 *   - No number is above `hardLimit`, above 2^32-1 without ESN, or above 2^64-1 with ESN.
 *   - After the first refusal every request is refused.
 *   - Only `restart` lowers a counter: the key row was written, and the counter starts anew.
 *   - After `raise` the next number is one above the raised one, or of the next block, if the
 *     counter was lower (fail-over).
 *   - One flipped bit of a counter in the memory changes nothing. Two take the counter out of use:
 *     every request is refused, with `spoiled`, until a restart.
 *
 * It takes one request every 2 cycles, of any SAs. Consecutive requests may be of one SA: the
 * counter is forwarded. `next` says the SA of a request `SequenceAuthority.ahead` cycles before it,
 * so that the memory answers in time. The grant follows exactly `SequenceAuthority.latency` cycles
 * after the request, in order, and never waits.
 *
 * `restart` and `raise` may come only while no request with `take` is under way, from its `next` to
 * its grant. So no packet pairs the key of one row with the counter of another, and no raise misses
 * a packet. For `raiseLatency` cycles after a raise neither of the two may come, nor the `next` of
 * a request with `take`.
 *
 * `last` shows the counter before a raise, from `raiseLatency` cycles after the raise. Of a lost
 * counter all bits are set, so a box that takes it over repeats no number. `softLimit` pulses once
 * per SA and restart, when the granted number reaches the soft limit.
 *
 * `repaired` pulses for each request with `take`, or raise, that met one wrong bit and wrote the
 * counter back right; `lost` for each that met more. Both come with the grant or with `last`.
 *
 * @param bits width of a number with ESN; without ESN half of them count. 64, but for tests that
 *   reach the end
 * @param memory of so many counters of so many bits
 */
class SequenceAuthority(saBits: Int, bits: Int = 64, memory: (Int, Int) => CodedMemory = new CodedMemory(_, _))
    extends Module {
  require(saBits >= 1 && saBits <= 16, s"saBits is $saBits; the link header carries an SA index of 1 to 16 bits")
  require(
    bits >= 16 && bits <= 64 && bits % 2 == 0,
    s"bits is $bits; a sequence number has 64, and 16 at least in a test"
  )

  val io = IO(new Bundle {
    val next = Flipped(Valid(UInt(saBits.W)))
    val request = Flipped(Valid(new SequenceRequest(saBits, bits)))
    val grant = Valid(new SequenceGrant(bits))
    val restart = Flipped(Valid(UInt(saBits.W)))
    val raise = Flipped(Valid(new SequenceRaise(saBits, bits)))
    val last = Output(UInt(bits.W))
    val softLimit = Valid(UInt(saBits.W))
    val repaired = Output(Bool())
    val lost = Output(Bool())
  })

  /** A counter gives numbers before and after its soft limit, until it has none left or is lost. */
  object State extends ChiselEnum { val open, soft, exhausted, spoiled = Value }
  private class Counter extends Bundle {
    val state = State()
    val last = UInt(bits.W)
    def gives: Bool = state === State.open || state === State.soft
  }
  private def counter(state: State.Type, last: UInt): Counter = {
    val counter = Wire(new Counter)
    counter.state := state
    counter.last := last
    counter
  }
  private val lost = counter(State.spoiled, ((BigInt(1) << bits) - 1).U)

  private val counters = Module(memory(1 << saBits, lost.getWidth))

  // Stages are cycles after `next`, less those in which the memory alone works. Stage 2: the
  // request. Stage 4: the memory's answer, and the candidate. Stage 5: limits. Stage 6: grant and
  // write back.
  import SequenceAuthority.{ahead, latency}
  private val answered = CodedMemory.latency
  counters.io.read.valid := io.next.valid || io.raise.valid
  counters.io.read.bits := Mux(io.raise.valid, io.raise.bits.sa, io.next.bits)
  private val row = counters.io.row
  private val stored = row.data.asTypeOf(new Counter)

  private val valid3 = RegNext(io.request.valid, false.B)
  private val valid4 = RegNext(valid3, false.B)
  private val valid5 = RegNext(valid4, false.B)
  private val request3 = RegEnable(io.request.bits, io.request.valid)
  private val request4 = RegEnable(request3, valid3)
  private val request5 = RegEnable(request4, valid4)
  private val taking5 = valid5 && request5.take

  // The newest results: what the memory does not show yet to a request two, four or more cycles
  // behind. A request reads as `next` comes, and is written back with its grant.
  private class Result extends Bundle {
    val sa = UInt(saBits.W)
    val counter = new Counter
  }
  private val unseen = (latency + ahead) / 2
  private val results = Reg(Vec(unseen, new Result))
  private val resultValids = RegInit(VecInit.fill(unseen)(false.B))
  private val newest = results.head

  // Matches are made a stage ahead, against what the results are in the next cycle.
  private val held = resultValids.zip(results).map { case (valid, result) => valid && result.sa === request3.sa }
  private val shifted = (request5.sa === request3.sa) +: held.init
  private val matches = shifted.zip(held).map { case (moves, stays) => RegNext(Mux(taking5, moves, stays)) }
  private val forwarded4 = VecInit(matches).asUInt.orR

  private val current4 = PriorityMux(matches.zip(results.map(_.counter)) :+ (true.B -> stored))
  private val spoiled4 = row.spoiled && !forwarded4
  private val current5 = RegEnable(Mux(spoiled4, lost, current4), valid4)
  // Of the node: bits that it has, and those in place.
  private val nodeMask4 = RegEnable(SequenceAuthority.nodeMask(request3.nodeBits), valid3)
  private val node4 = RegEnable(request3.node & SequenceAuthority.nodeMask(request3.nodeBits), valid3)
  private val above4 = (current4.last | nodeMask4) +& 1.U
  private val candidate5 = RegEnable(above4 | node4, valid4)
  private val repaired5 = RegEnable(row.repaired && !forwarded4, valid4)
  private val lost5 = RegEnable(spoiled4, valid4)

  private val number5 = candidate5(bits - 1, 0)
  private val beyond5 = candidate5(bits) || (!request5.esn && number5(bits - 1, bits / 2) =/= 0.U) ||
    (request5.hardLimit =/= 0.U && number5 > request5.hardLimit)
  private val granted5 = request5.take && !beyond5 && current5.gives
  private val soft5 = granted5 && request5.softLimit =/= 0.U && number5 >= request5.softLimit &&
    current5.state === State.open

  private val next5 = WireDefault(current5)
  when(soft5) { next5.state := State.soft }
  when(granted5) { next5.last := number5 }
  when(beyond5 && current5.gives) { next5.state := State.exhausted }

  when(taking5) {
    newest.sa := request5.sa
    newest.counter := next5
    for ((older, newer) <- results.tail.zip(results)) older := newer
    resultValids := VecInit(true.B +: resultValids.init)
  }
  when(io.restart.valid || io.raise.valid) { resultValids.foreach(_ := false.B) }

  // A raise: the memory answers, then comparison, then the counter is written back.
  private val recentRaises = Seq.iterate(io.raise.valid, answered + 2 + ahead)(RegNext(_, false.B))
  private val raising = recentRaises.take(answered + 2)
  private val raise = RegEnable(io.raise.bits, io.raise.valid)
  private val raiseRead = raising(answered)
  private val raises = raising(answered + 1)
  private val before = RegEnable(Mux(row.spoiled, lost, stored), raiseRead)
  private val higher = RegEnable(raise.number > stored.last && !row.spoiled, raiseRead)
  private val raised = counter(before.state, Mux(higher, raise.number, before.last))
  io.last := before.last

  private val took6 = RegNext(taking5, false.B)
  counters.io.write.valid := took6 || io.restart.valid || raises
  counters.io.write.bits.index := Mux(io.restart.valid, io.restart.bits, Mux(raises, raise.sa, newest.sa))
  counters.io.write.bits.data :=
    Mux(io.restart.valid, 0.U.asTypeOf(new Counter), Mux(raises, raised, newest.counter)).asUInt

  io.grant.valid := RegNext(valid5, false.B)
  io.grant.bits.granted := RegNext(granted5)
  io.grant.bits.spoiled := RegNext(request5.take && current5.state === State.spoiled)
  io.grant.bits.sequence := RegNext(Mux(granted5, number5, 0.U))
  io.softLimit.valid := RegNext(valid5 && soft5, false.B)
  io.softLimit.bits := newest.sa
  io.repaired := RegNext(taking5 && repaired5 || raiseRead && row.repaired, false.B)
  io.lost := RegNext(taking5 && lost5 || raiseRead && row.spoiled, false.B)

  assert(!(io.request.valid && valid3), "requests must be two cycles apart")
  private val announced = ShiftRegister(io.next, ahead, 0.U.asTypeOf(io.next), true.B)
  assert(!io.request.valid || announced.valid && announced.bits === io.request.bits.sa, "a request that no `next` told")
  private val underWay = io.request.valid && io.request.bits.take || valid3 && request3.take ||
    valid4 && request4.take || taking5 || took6
  assert(!io.restart.valid || !underWay, "restart while a packet is between key and number")
  assert(!raising.reduce(_ || _) || !underWay, "raise while a packet is between key and number")
  private val recentRestarts = Seq.iterate(io.restart.valid, ahead + 1)(RegNext(_, false.B))
  private val readBefore = (recentRaises ++ recentRestarts).reduce(_ || _)
  assert(!(io.request.valid && io.request.bits.take && readBefore), "a counter was read before it was written")
  assert(!raising.reduce(_ || _) || !io.restart.valid, "raise and restart at once")
  assert(!raises || raised.last >= before.last, "a raise must not lower a counter")
  assert(!(valid5 && granted5 && number5 <= current5.last), "a sequence number must be above the last")
}

object SequenceAuthority {

  /** Bits of a node's number: 128 nodes at most. */
  val mostNodeBits: Int = 7

  /** As many ones as `nodeBits` says. */
  private def nodeMask(nodeBits: UInt): UInt = VecInit.tabulate(mostNodeBits)(bit => nodeBits > bit.U).asUInt

  /** Cycles from a request to its grant: it meets the memory's answer two cycles later. */
  val latency: Int = 4

  /** Cycles from `next` to its request. */
  val ahead: Int = CodedMemory.latency + 2 - latency

  /** Cycles from a raise to `last`. */
  val raiseLatency: Int = CodedMemory.latency + 1
}
