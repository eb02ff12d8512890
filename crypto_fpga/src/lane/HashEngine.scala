// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.clock.ClockGate
import sallyport.crypto.hash.{HashKind, HashPipe, Poly1305Pipe, Sha1Pipe, Sha256Pipe, Sm3Pipe}

/**
 * Runs the chained hashes of many packets at once: HMAC (RFC 2104) with SHA-256, SHA-1 or SM3, and
 * Poly1305 (RFC 8439).
 *
 * A packet is a chain of units of 64 bytes, and one unit of any packet that is ready enters its
 * pipe every 4 cycles. A unit comes back after the latency of its pipe, and goes on no sooner than
 * [[HashEngine.turnaround]] cycles after its turn; with that many packets times a quarter in flight
 * the rate is 128 bits a cycle. A packet of n bytes takes ⌈(n + 9) / 64⌉ + 1 units under HMAC (n +
 * 4 instead of n with ESN), ⌈(⌈n / 16⌉ + 1) / 4⌉ under Poly1305.
 *
 * Turns have a fixed phase of 4 cycles. The pipes' latencies differ modulo 4, so results come one a
 * cycle, each pipe's in its phase, and one port writes them all. As every pipe keeps order and
 * time, what belongs to a result is found in a ring of tickets by the time at which the unit
 * entered. So a packet is scheduled anew a turn before its result comes out: the next unit is
 * fetched meanwhile and meets the chain as it is written.
 *
 * The clock stops while no packet is in the engine, each pipe's while the pipe is empty. Ports:
 * [[HashEnginePorts]].
 *
 * @param kinds
 *   the hashes that are built; `start` names no other
 * @param next
 *   the row of beat j of a packet, from the row of its first beat and j
 */
class HashEngine(slots: Int, rowBits: Int, kinds: Set[HashKind.Type], next: (UInt, UInt) => UInt) extends Module {
  require(slots >= 2 && slots <= 256, s"the engine keeps 2 to 256 packets in flight, not $slots")
  require(kinds.nonEmpty, "an engine without a hash has nothing to do: leave it out")

  private val slotBits = log2Ceil(slots)
  val io = IO(new HashEnginePorts(slots, rowBits))

  /** What belongs to a result. */
  private class Ticket extends Bundle {

    /** The packet's next unit; if `done`, of its slot alone. */
    val unit = new HashUnit(slots)
    val done = Bool()
  }

  /** A pipe's result, `latency` cycles after the unit went in. */
  private case class Result(kind: HashKind.Type, valid: Bool, chain: UInt, tag: UInt) {
    val latency: Int = HashEngine.latency(kind)
  }

  private val hasPoly = kinds(HashKind.poly1305)
  private val called = io.load.valid || io.polyKey.valid || io.start.valid || io.grown.valid
  private val busy = Wire(Bool())
  private val running = ClockGate(clock, called || busy || io.wipe || reset.asBool)

  withClock(running) {
    val packets = RegInit(0.U(log2Ceil(slots + 1).W))
    packets := Mux(io.wipe, 0.U, packets + io.start.valid - io.done.valid)
    busy := packets =/= 0.U

    // Keys and chains. Every cycle reads, so a wipe also makes the words at the outputs zero.
    val wipeRow = RegInit(0.U(slotBits.W))
    wipeRow := Mux(io.wipe, wipeRow + 1.U, 0.U)
    def memory(valid: Bool, slot: UInt, data: UInt): SyncReadMem[UInt] = {
      val memory = SyncReadMem(slots, UInt(256.W))
      when(valid || io.wipe) { memory.write(Mux(io.wipe, wipeRow, slot), Mux(io.wipe, 0.U, data)) }
      memory
    }
    val resultValid = Wire(Bool())
    val result = Reg(UInt(256.W))
    val ticket = Wire(new Ticket)
    val inners = memory(io.load.valid, io.load.bits.slot, io.load.bits.auth(255, 0))
    val outers = memory(io.load.valid, io.load.bits.slot, io.load.bits.auth(511, 256))
    val polyKeys = memory(io.polyKey.valid, io.polyKey.bits.slot, Cat(io.polyKey.bits.s, io.polyKey.bits.r))
    val chains = memory(resultValid, ticket.unit.slot, result)
    val jobs = SyncReadMem(slots, new HashStart(slots, rowBits))
    when(io.start.valid) { jobs.write(io.start.bits.slot, io.start.bits) }

    // The time: turns and, in the high bits, rows of the ring of tickets, which outlast the
    // longest pipe.
    val rows = 1 << log2Ceil(HashEngine.latencies.filter(l => kinds(l._1)).map(_._2).max / 4 + 1)
    val time = RegInit(0.U((log2Ceil(rows) + 2).W))
    time := time + 1.U
    val phase = time(1, 0)
    val turn = time >> 2

    val schedule = Module(new HashSchedule(slots))
    schedule.io.start.valid := io.start.valid
    schedule.io.start.bits.slot := io.start.bits.slot
    schedule.io.start.bits.complete := io.start.bits.complete
    schedule.io.grown := io.grown
    schedule.io.turn := phase === (-HashEngine.entry & 3).U
    schedule.io.clear := io.wipe

    val blocks = Module(new HashBlocks(slots, rowBits, hasPoly, next))
    val unit = RegNext(schedule.io.pick.bits)
    blocks.io.in.valid := RegNext(schedule.io.pick.valid, false.B)
    blocks.io.in.bits := unit
    blocks.io.job := jobs.read(schedule.io.pick.bits.slot)
    io.read := blocks.io.read
    io.readsSoon := schedule.io.pick.valid && !schedule.io.pick.bits.outer
    blocks.io.beat := io.beat

    // The unit meets key and chain in the cycle of its beat, and enters a pipe in the next.
    val plan = blocks.io.plan.bits
    val keySlot = ShiftRegister(unit.slot, HashEngine.readLatency)
    val chain = chains.read(keySlot)
    def isPoly(plan: HashPlan): Bool = if (hasPoly) plan.kind === HashKind.poly1305 else false.B
    val first = Mux(isPoly(plan), 0.U, inners.read(keySlot))
    val state = RegNext(Mux(plan.unit.outer, outers.read(keySlot), Mux(plan.opens, first, chain)))
    val key = RegNext(polyKeys.read(keySlot))
    val block = RegNext(blocks.io.block)
    val entering = RegNext(plan)
    blocks.io.chain := chain
    val enters = kinds.map(kind => kind -> RegNext(blocks.io.plan.valid && plan.kind === kind, false.B)).toMap

    def hmac(kind: HashKind.Type, make: => HashPipe): Option[Result] = Option.when(kinds(kind)) {
      val pipe = Module(make)
      pipe.io.in.valid := enters(kind)
      pipe.io.in.bits.state := state
      pipe.io.in.bits.block := block
      pipe.io.wipe := io.wipe
      Result(kind, pipe.io.out.valid, pipe.io.out.bits, pipe.io.out.bits)
    }
    val poly = Option.when(hasPoly) {
      val pipe = Module(new Poly1305Pipe)
      pipe.io.in.valid := enters(HashKind.poly1305)
      pipe.io.in.bits.acc := state(129, 0)
      pipe.io.in.bits.r := key(127, 0)
      pipe.io.in.bits.s := key(255, 128)
      pipe.io.in.bits.data := block
      pipe.io.in.bits.blocks := entering.blocks
      pipe.io.wipe := io.wipe
      Result(HashKind.poly1305, pipe.io.out.valid, pipe.io.out.bits.acc, pipe.io.out.bits.tag)
    }
    val results = poly ++
      hmac(HashKind.sha256, new Sha256Pipe) ++
      hmac(HashKind.sha1, new Sha1Pipe) ++
      hmac(HashKind.sm3, new Sm3Pipe)
    require(results.map(_.latency % 4).toSet.size == results.size, "results of two pipes would meet")

    val tickets = Mem(rows, new Ticket)
    val written = Wire(new Ticket)
    written.unit.slot := entering.unit.slot
    written.unit.index := entering.unit.index + 1.U
    written.unit.outer := entering.ends
    written.done := entering.ends && (entering.unit.outer || isPoly(entering))
    when(phase === 0.U) { tickets(turn) := written }

    // A result in its phase; its ticket a turn before, in the same phase.
    def ofPhase[T <: Data](value: Result => T): T =
      MuxLookup(phase, value(results.head))(results.toSeq.map(r => (r.latency % 4).U -> value(r)))
    def comesInATurn(result: Result): Bool = {
      val past = RegInit(0.U(((result.latency - 1) / 4).W))
      when(phase === 0.U) { past := Cat(past, enters(result.kind)).tail(1) }
      when(io.wipe) { past := 0.U }
      past.head(1).asBool && phase === (result.latency % 4).U
    }
    val soonValid = RegNext(results.map(comesInATurn).reduce(_ || _) && !io.wipe, false.B)
    val soon = RegNext(tickets((turn - ofPhase(r => (r.latency / 4 - 1).U))(log2Ceil(rows) - 1, 0)))
    val now = ShiftRegister(soon, 3)
    ticket := RegNext(now)
    result := ofPhase(r => Mux(now.done, r.tag, r.chain))
    resultValid := RegNext(results.map(_.valid).reduce(_ || _) && !io.wipe, false.B)
    assert(PopCount(results.map(_.valid)) <= 1.U)
    assert(
      io.wipe || resultValid === ShiftRegister(soonValid && !io.wipe, 4, false.B, true.B),
      "a result that was not foreseen"
    )

    schedule.io.returned.valid := soonValid && !soon.done
    schedule.io.returned.bits := soon.unit
    io.done.valid := resultValid && ticket.done
    io.done.bits.slot := ticket.unit.slot
    io.done.bits.tag := result
  }
}

object HashEngine {

  /** Cycles from `read` to `beat`. */
  val readLatency = 2

  /** Bits of a length in bytes. */
  val lengthBits = 14

  /** Bits of a number of units. */
  private[crypto] val unitBits = lengthBits - 5

  /** Cycles from a turn to the entry into the pipe. */
  private val entry = 4 + readLatency

  /** Cycles of each pipe. */
  private val latencies: Seq[(HashKind.Type, Int)] = Seq(
    HashKind.sha256 -> Sha256Pipe.latency,
    HashKind.sha1 -> Sha1Pipe.latency,
    HashKind.sm3 -> Sm3Pipe.latency,
    HashKind.poly1305 -> Poly1305Pipe.latency
  )

  /** Cycles of a kind's pipe. */
  def latency(kind: HashKind.Type): Int = latencies.find(_._1 == kind).get._2

  /**
   * Cycles from a packet's turn to its next one at the earliest: what a unit takes less the turn
   * by which it is foreseen.
   */
  def turnaround(kind: HashKind.Type): Int = (entry + latency(kind) + 2 - 4 + 3) / 4 * 4

  /**
   * Cycles for which `wipe` is held: every row of every memory, and longer than a unit is on
   * its way.
   */
  def wipeCycles(slots: Int): Int = math.max(slots, latencies.map(_._2).max) + 16
}
