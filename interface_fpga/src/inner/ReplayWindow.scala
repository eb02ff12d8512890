// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._

/**
 * A row of 1024 numbers of an SA's ring: of block b (the numbers from 1024 b on), of b plus the
 * rows of the ring, and so on.
 *
 * Which block a bit speaks of follows from `last`: the bits up to its place are of its block, those
 * above of the block one ring before. A row that no packet has touched for a while is thus not
 * wrong but behind, and is brought up when one does.
 */
class ReplayState extends Bundle {

  /** The last number of this row up to the SA's highest when the row was written; 0 of a new SA. */
  val last = UInt(64.W)

  /** Bit n: the number that is n modulo 1024 was received. Word w holds bits 32w+31:32w. */
  val received = Vec(ReplayWindow.words, UInt(ReplayWindow.wordBits.W))
}

/**
 * The two halves of what happens to a row, so that a register can stand between them, and
 * its dimensions.
 *
 * A ring, as in RFC 6479, of single numbers: the window slides by clearing the bits that come in,
 * all those of one row in one go.
 */
object ReplayWindow {
  val rowSize: Int = 1024
  val mostRows: Int = 4

  /** Largest and smallest window in packets. */
  val size: Int = rowSize * mostRows
  val minimum: Int = 64

  val wordBits: Int = 32
  val words: Int = rowSize / wordBits

  /** Bits of a number that say its place in a row, and the rest: its block. */
  val lowBits: Int = log2Ceil(rowSize)
  val blockBits: Int = 64 - lowBits

  /** Whether a window needs more than one row, and more than two. */
  def beyondOne(window: UInt): Bool = window > rowSize.U
  def beyondTwo(window: UInt): Bool = window > (2 * rowSize).U

  /**
   * Bit i: i <= index. A function of the index's bits alone, where a comparison would be
   * an adder.
   */
  private def upTo(index: UInt): UInt = {
    val width = index.getWidth
    if (width == 1) Cat(index(0), true.B)
    else {
      val rest = upTo(index(width - 2, 0))
      val top = index(width - 1)
      Cat(Mux(top, rest, 0.U), Mux(top, Fill(1 << (width - 1), true.B), rest))
    }
  }

  /** A place in a row, as masks of the words below it and of the bits at or below it. */
  class Position extends Bundle {
    val wordsBelow = UInt(words.W)
    val word = UInt(words.W)
    val bits = UInt(wordBits.W)

    /** Bits of word `w` that are at or below the place. */
    def within(w: Int): UInt = Fill(wordBits, wordsBelow(w)) | (Fill(wordBits, word(w)) & bits)
  }

  object Position {
    def apply(low: UInt): Position = {
      val position = Wire(new Position)
      val word = low(lowBits - 1, log2Ceil(wordBits))
      position.wordsBelow := upTo(word) >> 1
      position.word := UIntToOH(word, words)
      position.bits := upTo(low(log2Ceil(wordBits) - 1, 0))
      position
    }
  }

  /** The facts about a number before its row is read. */
  class Place extends Bundle {

    /**
     * Place of the number in its row; `zero`: it is number 0, which is never sent and counts as
     * received (RFC 4303 2.2).
     */
    val low = UInt(lowBits.W)
    val zero = Bool()

    /** The SA's highest number is lost to flipped bits; the other facts mean nothing. */
    val lost = Bool()

    /** Beyond the highest; left of the window. Neither: in the window. */
    val ahead = Bool()
    val tooOld = Bool()

    /** `last` of the row as it must become; meaningless if too old. */
    val lastBlock = UInt(blockBits.W)
    val lastLow = UInt(lowBits.W)

    /** The block one ring before `lastBlock`. */
    val blockBefore = UInt(blockBits.W)

    /** The number is in `lastBlock`; else in `blockBefore`. */
    val current = Bool()
  }

  /** The comparison of a number with its row. */
  class Comparison extends Bundle {
    val state = new ReplayState
    val place = new Place
    val sameLap = Bool()
    val nextLap = Bool()

    /** The row's `last` moves around its end. */
    val wraps = Bool()

    /** The number's place is not above that of the row's `last`. */
    val covered = Bool()
    val from = new Position
    val to = new Position
    val word = UInt(wordBits.W)
  }

  /** First half. */
  def compare(state: ReplayState, place: Place): Comparison = {
    val c = Wire(new Comparison)
    val block = state.last(63, lowBits)
    val low = state.last(lowBits - 1, 0)
    c.state := state
    c.place := place
    c.sameLap := block === place.lastBlock
    c.nextLap := block === place.blockBefore
    c.wraps := place.lastLow < low
    c.covered := place.low <= low
    c.from := Position(low)
    c.to := Position(place.lastLow)
    c.word := state.received(place.low(lowBits - 1, log2Ceil(wordBits)))
    c
  }

  /** At most one is high. */
  class Verdict extends Bundle {
    val replayed = Bool()
    val tooOld = Bool()

    /** The SA accepts no number until it starts anew: its highest is lost to flipped bits. */
    val upset = Bool()
  }

  /** Second half: the verdict and, unless the number is too old or the highest lost, the row. */
  def update(c: Comparison): (Verdict, ReplayState) = {
    val place = c.place
    // A bit counts if it belongs to the number's block: a row that was behind may still hold one of
    // a ring before.
    val known = Mux(place.current, c.sameLap && c.covered, c.sameLap || (c.nextLap && c.covered))
    val verdict = Wire(new Verdict)
    verdict.upset := place.lost
    verdict.tooOld := place.tooOld && !place.lost
    verdict.replayed := !place.ahead && !place.tooOld && !place.lost &&
      (place.zero || (known && c.word(place.low(log2Ceil(wordBits) - 1, 0))))

    val slides = c.sameLap || (c.nextLap && c.wraps)
    val atWord = UIntToOH(place.low(lowBits - 1, log2Ceil(wordBits)), words)
    val atBit = UIntToOH(place.low(log2Ceil(wordBits) - 1, 0), wordBits)
    val state = Wire(new ReplayState)
    state.last := Cat(place.lastBlock, place.lastLow)
    for (w <- 0 until words) {
      // The places behind the old `last` up to the new one, around the row's end if the new one is
      // the smaller.
      val behind = ~c.from.within(w)
      val reached = c.to.within(w)
      val between = Mux(c.wraps, behind | reached, behind & reached)
      val cleared = Fill(wordBits, !slides) | between
      state.received(w) := (c.state.received(w) & ~cleared) | (Fill(wordBits, atWord(w)) & atBit)
    }
    (verdict, state)
  }
}
