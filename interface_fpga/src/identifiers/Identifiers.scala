// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.identifiers

import chisel3._
import chisel3.util._
import sallyport.common.queue.LutQueue

/** Identifications for a packet: one of IPv4's, and one of IPv6 fragments. */
class Identifiers extends Bundle {
  val v4 = UInt(Identifiers.v4Bits.W)
  val v6 = UInt(Identifiers.v6Bits.W)
}

object Identifiers {
  val v4Bits: Int = 16
  val v6Bits: Int = 32
}

/** A word of the key of [[IdentifierSource]]. */
class SeedWord extends Bundle {

  /** It begins a key. */
  val first = Bool()
  val word = UInt(IdentifierSource.seedWordBits.W)
}

/**
 * Makes identifications that an attacker cannot foresee (RFC 7739 5.2; RFC 6864 5.1).
 *
 * They are keystream of [[Trivium]], whose key comes in five words of `seed`, s1 to s16 first.
 * Without a whole key there are none: `seeded` and `out.valid` are low. A first word ends the key
 * before, whole or not; what waits at `out` by then leaves first. Others are lost without a first.
 * Software draws each key anew: the same one again gives its recent numbers, refused one a cycle.
 *
 * One of IPv4 differs from at least the last [[IdentifierSource.apart]] ones ([[RecentNumbers]]),
 * whatever their destination. Those of IPv6 are random numbers of 32 bits.
 *
 * More than two every three cycles in the long run; [[IdentifierSource.waiting]] are drawn ahead.
 */
class IdentifierSource extends Module {
  import IdentifierSource._

  val io = IO(new Bundle {
    val seed = Flipped(Valid(new SeedWord))
    val seeded = Output(Bool())
    val out = Decoupled(new Identifiers)

    /** The memory of recent numbers is clear; none is drawn before. */
    val ready = Output(Bool())
  })

  private val cipher = Module(new Trivium)

  // The key, until it is whole; then the cipher has it alone.
  private val key = RegInit(0.U(Trivium.keyBits.W))
  private val words = RegInit(0.U(log2Ceil(seedWords + 1).W))
  private val whole = words === seedWords.U
  private val warm = RegInit(0.U(log2Ceil(Trivium.warmUpSteps + 1).W))
  private val seeded = RegInit(false.B)
  private val warming = warm =/= 0.U
  when(whole) {
    key := 0.U
    words := 0.U
    warm := Trivium.warmUpSteps.U
  }.elsewhen(warming) {
    warm := warm - 1.U
    seeded := warm === 1.U
  }
  private val begins = io.seed.valid && io.seed.bits.first
  when(begins || (io.seed.valid && words =/= 0.U && !whole)) {
    key := Cat(io.seed.bits.word, key >> seedWordBits)
    words := Mux(begins, 1.U, words + 1.U)
  }
  when(begins) {
    warm := 0.U
    seeded := false.B
  }
  cipher.io.load.valid := whole
  cipher.io.load.bits := key
  io.seeded := seeded

  // Numbers are drawn as long as there is room for all that are under way.
  private val recent = Module(new RecentNumbers(Identifiers.v4Bits, apart))
  private val queue = Module(new LutQueue(new Identifiers, waiting))
  private val room = RegInit(waiting.U(log2Ceil(waiting + 1).W))
  private val draws = seeded && recent.io.ready && room =/= 0.U && !begins
  cipher.io.step := draws || warming
  recent.io.draw.valid := draws
  recent.io.draw.bits := cipher.io.keystream(Identifiers.v4Bits - 1, 0)
  private val drawn = ShiftRegister(cipher.io.keystream.head(Identifiers.v6Bits), RecentNumbers.latency)
  queue.io.in.valid := recent.io.fresh.valid
  queue.io.in.bits.v4 := recent.io.fresh.bits
  queue.io.in.bits.v6 := drawn
  room := room - draws + recent.io.refused + io.out.fire
  io.out <> queue.io.out
  io.ready := recent.io.ready
  assert(!queue.io.in.valid || queue.io.in.ready, "an identification has no room")
}

object IdentifierSource {

  /** Words of a key, and their bits. */
  val seedWordBits: Int = 16
  val seedWords: Int = Trivium.keyBits / seedWordBits

  /** Identifications of IPv4 between two equal ones, at least. */
  val apart: Int = 8192

  /** Places of the queue: a burst of packets two cycles apart finds one for each. */
  val waiting: Int = 32
}
