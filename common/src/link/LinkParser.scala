// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.clock.QuietClock
import sallyport.common.stream.PacketStream

/** A word of the link and what starts in it. */
class ParsedWord extends Bundle {
  val data = UInt(PacketStream.dataBits.W)

  /** The frame that is open at the end of this word goes on in the next. */
  val continued = Bool()

  /** The framing was lost when this word came; it may hold a request or a resync at `position`. */
  val hunting = Bool()

  /** The lock that this word belongs to, modulo 16. */
  val lock = UInt(4.W)

  /** Unit at which a header starts. */
  val position = UInt(3.W)

  /** That header is a packet's. */
  val packet = Bool()

  /** That header stands alone. */
  val control = Bool()

  /** That header is the resync the receiver waits for: the framing starts anew with it. */
  val resync = Bool()

  /** A payload beat of the packet before that header starts in this word at unit `start`. */
  val tail = new ParsedBeat

  /** The first payload beat of that header's packet starts in this word. */
  val head = new ParsedBeat
}

class ParsedBeat extends Bundle {
  val valid = Bool()
  val first = Bool()
  val last = Bool()
  val bytes = UInt(7.W)
  val start = UInt(3.W)
}

/**
 * Follows the framing of received words: finds headers and the units at which payload beats start.
 *
 * One word a cycle without back-pressure, 3 cycles of latency. Trusts the lengths it reads, since a
 * later module checks the CRC. A module that finds a fault raises `hunt` with the lock in which the
 * fault was. A first unit that is no header (check, type, length) loses the framing here.
 *
 * While it hunts it looks at all eight units of every word for the resync that echoes `nonce`, and
 * goes on from there at once. It also passes on a request. Words in which nothing starts and
 * nothing goes on are left out.
 */
class LinkParser(withSequence: Boolean, messages: Boolean) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(UInt(PacketStream.dataBits.W)))
    val up = Input(Bool())

    /** Framing is found wrong behind the parser, in words of this lock. */
    val hunt = Flipped(Valid(UInt(4.W)))

    /** A parsed word was lost behind the parser. */
    val overrun = Input(Bool())

    /** Stirred into the nonces. */
    val noise = Input(UInt(32.W))
    val out = Valid(new ParsedWord)
    val hunting = Output(Bool())
    val nonce = Output(UInt(32.W))
  })

  private val headUnits = if (withSequence) 3 else 2
  private val lastControl = if (messages) LinkFrame.message else LinkFrame.resync
  private val stirs = Wire(Bool())
  private val running = withClock(clock)(QuietClock(stirs, cycles = 4))
  override protected def implicitClock: Clock = running

  // The nonce: a generator that never rests, sampled at the start of a hunt. No reset stops it
  // either, or the first nonce behind each would be the same, and strangers could have it in a
  // payload that is under way. It leaves 0, as which it may wake up, by itself.
  private val generator = withClock(clock)(Reg(UInt(32.W)))
  private val g1 = generator ^ (generator << 13)(31, 0)
  private val g2 = g1 ^ (g1 >> 17).asUInt
  private val g3 = g2 ^ (g2 << 5)(31, 0) ^ io.noise
  generator := Mux(g3 === 0.U, 1.U, g3)
  private val nonce = RegInit(0.U(32.W))

  // Stage 1: every unit as if it were the first of a header.
  private class Candidate extends Bundle {
    val idle = Bool()
    val packet = Bool()
    val control = Bool()
    val request = Bool()
    val resync = Bool()

    /** Units of the frame in the words after this one. */
    val after = UInt(11.W)

    /** Payload beats of a packet, whether it has one only, and bytes of the last. */
    val beats = UInt(8.W)
    val single = Bool()
    val lastBytes = UInt(7.W)
  }
  private val valid1 = RegNext(io.in.valid && io.up, false.B)
  private val word1 = RegEnable(io.in.bits, io.in.valid)
  private val candidates = (0 until 8).map { position =>
    val unit = io.in.bits(64 * position + 63, 64 * position)
    val kind = unit(3, 0)
    val length = unit(27, 14)
    val checked = LinkFrame.check(unit) === unit(7, 4)
    val c = Wire(new Candidate)
    c.idle := !unit.orR
    c.packet := checked && kind === LinkFrame.packet.U && length =/= 0.U && length <= LinkFrame.maxBytes.U
    c.control := checked && kind >= LinkFrame.credit.U && kind <= lastControl.U
    c.request := checked && kind === LinkFrame.request.U
    c.resync := checked && kind === LinkFrame.resync.U && unit(63, 32) === nonce
    // Started units less those that this word has room for: one sum, negative if there is room
    // for all.
    val here = 8 - position - headUnits
    val beyond = length.zext +& (7 - 8 * here).S
    val packetAfter = Mux(beyond < 0.S, 0.U, beyond(13, 3))
    c.after := Mux(kind === LinkFrame.packet.U, packetAfter, (if (position == 7) 1 else 0).U)
    c.beats := LinkFrame.beats(length)(7, 0)
    c.single := length <= PacketStream.dataBytes.U
    c.lastBytes := Mux(length(5, 0) === 0.U, PacketStream.dataBytes.U, length(5, 0))
    RegEnable(c, io.in.valid)
  }

  // Stage 2: which of them is one.
  private val hunting = RegInit(true.B)
  private val lock = RegInit(0.U(4.W))
  private val left = RegInit(0.U(11.W))
  private val resyncs = VecInit(candidates.map(_.resync)).asUInt
  private val requests = VecInit(candidates.map(_.request)).asUInt
  private val found = Mux(resyncs.orR, PriorityEncoder(resyncs), PriorityEncoder(requests))
  private val slot = left < 8.U
  private val candidate = VecInit(candidates)(left(2, 0))
  private val broken = slot && !candidate.idle && !candidate.packet && !candidate.control
  private val headerHere = slot && (candidate.packet || candidate.control)
  private val leftAfter = Mux(slot, Mux(candidate.idle, 0.U, candidate.after), left - 8.U)

  private class Slot extends Bundle {
    val hunting = Bool()
    val lock = UInt(4.W)
    val units = UInt(4.W)
    val position = UInt(3.W)
    val packet = Bool()
    val control = Bool()
    val resync = Bool()
    val continued = Bool()
    val beats = UInt(8.W)
    val single = Bool()
    val lastBytes = UInt(7.W)
  }
  private val slot2 = Wire(new Slot)
  slot2.hunting := hunting
  slot2.lock := lock
  slot2.units := Mux(hunting, 0.U, Mux(slot, left(2, 0), 8.U))
  slot2.position := Mux(hunting, found, left(2, 0))
  slot2.packet := !hunting && headerHere && candidate.packet
  slot2.control := Mux(hunting, resyncs.orR || requests.orR, headerHere && candidate.control)
  slot2.resync := hunting && resyncs.orR
  slot2.continued := Mux(hunting, slot2.control && found === 7.U, !broken && leftAfter =/= 0.U)
  slot2.beats := candidate.beats
  slot2.single := candidate.single
  slot2.lastBytes := candidate.lastBytes
  when(valid1) {
    when(hunting) {
      when(resyncs.orR) {
        hunting := false.B
        lock := lock + 1.U
        slot2.lock := lock + 1.U
        left := found === 7.U
      }
    }.otherwise {
      left := leftAfter
      hunting := broken
    }
  }
  // A sender does not pause inside a frame: silence there means that words are missing, or that a
  // length was wrong.
  private val silence = RegInit(0.U(5.W))
  private val silent = silence === LinkFrame.silence.U
  silence := Mux(valid1 || left === 0.U, 0.U, Mux(silent, silence, silence + 1.U))
  // In a hunt both speak of the framing before it, and must not undo the resync that ends it.
  private val hunt = RegNext(io.hunt, 0.U.asTypeOf(io.hunt))
  private val fault = silent || (hunt.valid && hunt.bits === lock)
  when(!io.up || io.overrun || (fault && !hunting)) { hunting := true.B }
  private val huntingBefore = RegNext(hunting, false.B)
  when(hunting && !huntingBefore) { nonce := generator }
  stirs := io.in.valid || !io.up || io.hunt.valid || io.overrun || hunting || left =/= 0.U
  // One cycle late, when the nonce of this hunt stands.
  io.hunting := hunting && huntingBefore
  io.nonce := nonce

  // Stage 3: which payload beats start here.
  private val valid2 = RegNext(valid1, false.B)
  private val word2 = RegEnable(word1, valid1)
  private val s = RegEnable(slot2, valid1)
  private val beatsLeft = RegInit(0.U(8.W))
  private val begun = Reg(Bool())
  private val start = Reg(UInt(3.W))
  private val lastBytes = Reg(UInt(7.W))
  private val goesOn = RegInit(false.B)

  private val out = Wire(new ParsedWord)
  private val payload = s.position +& headUnits.U
  out.data := word2
  out.continued := s.continued
  out.hunting := s.hunting
  out.lock := s.lock
  out.position := s.position
  out.packet := s.packet
  out.control := s.control
  out.resync := s.resync
  out.tail.valid := !s.hunting && beatsLeft =/= 0.U && start < s.units
  out.tail.first := !begun
  out.tail.last := beatsLeft === 1.U
  out.tail.bytes := Mux(beatsLeft === 1.U, lastBytes, 64.U)
  out.tail.start := start
  out.head.valid := s.packet && !payload(3)
  out.head.first := true.B
  out.head.last := s.single
  out.head.bytes := Mux(s.single, s.lastBytes, 64.U)
  out.head.start := payload(2, 0)
  when(valid2) {
    goesOn := s.continued
    when(s.packet) {
      start := payload(2, 0)
      begun := out.head.valid
      beatsLeft := s.beats - out.head.valid
      lastBytes := s.lastBytes
    }.elsewhen(s.hunting || s.control) {
      beatsLeft := 0.U
    }.elsewhen(out.tail.valid) {
      begun := true.B
      beatsLeft := beatsLeft - 1.U
    }
  }
  io.out.valid := RegNext(valid2 && (out.tail.valid || s.packet || s.control || goesOn), false.B)
  io.out.bits := RegEnable(out, valid2)
}
