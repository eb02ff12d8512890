package sallyport.iface

import chisel3._
import chisel3.util._

/** Anti-replay state of one SA: the highest sequence number received and which of the last 1024 were. */
class ReplayState extends Bundle {

  /** Highest sequence number received; 0 of a new SA. */
  val top = UInt(64.W)

  /** Bit n: the number in (top - 1024, top] that is n modulo 1024 was received. Word w holds bits 32w+31:32w. */
  val received = Vec(ReplayWindow.words, UInt(ReplayWindow.wordBits.W))
}

/**
 * The two halves of what happens to one sequence number, so that a register can stand between them.
 *
 * A ring, as in RFC 6479, of single numbers: the window slides by clearing the bits that come in, all of them in one go.
 * Numbers are compared by their high 54 bits, which say which lap of the ring they are in, and their low 10.
 */
object ReplayWindow {
  val size: Int = 1024
  val wordBits: Int = 32
  val words: Int = size / wordBits
  val minimum: Int = 64
  private val indexBits = log2Ceil(size)

  /** A number of 0 to 1023 as what is below and at it, in two levels. */
  class Position extends Bundle {
    val wordsBelow = UInt(words.W)
    val word = UInt(words.W)
    val bitsBelow = UInt(wordBits.W)
    val bit = UInt(wordBits.W)

    /** Bits of word `w` that are at or below the position. */
    def upTo(w: Int): UInt = Fill(wordBits, wordsBelow(w)) | (Fill(wordBits, word(w)) & (bitsBelow | bit))

    /** Bit of word `w` that is the position. */
    def at(w: Int): UInt = Fill(wordBits, word(w)) & bit
  }

  object Position {
    def apply(index: UInt): Position = {
      val position = Wire(new Position)
      val word = UIntToOH(index(indexBits - 1, log2Ceil(wordBits)), words)
      val bit = UIntToOH(index(log2Ceil(wordBits) - 1, 0), wordBits)
      position.word := word
      position.wordsBelow := word - 1.U
      position.bit := bit
      position.bitsBelow := bit - 1.U
      position
    }
  }

  /** What is known of a sequence number before the state is. */
  class Request extends Bundle {
    val sequence = UInt(64.W)

    /** The lap after and before the sequence number's. */
    val lapAfter = UInt((64 - indexBits).W)
    val lapBefore = UInt((64 - indexBits).W)

    /** Window, 1 to 1024. */
    val window = UInt((indexBits + 1).W)
    def low: UInt = sequence(indexBits - 1, 0)
    def lap: UInt = sequence(63, indexBits)
  }

  object Request {
    def apply(sequence: UInt, window: UInt): Request = {
      val request = Wire(new Request)
      request.sequence := sequence
      request.lapAfter := sequence(63, indexBits) + 1.U
      request.lapBefore := sequence(63, indexBits) - 1.U
      request.window := Mux(window > size.U, size.U, window(indexBits, 0))
      request
    }
  }

  /** The comparison of a sequence number with a state. */
  class Comparison extends Bundle {
    val state = new ReplayState
    val sequence = UInt(64.W)
    val window = UInt((indexBits + 1).W)

    /** Beyond `top`. */
    val ahead = Bool()
    val sameLap = Bool()
    val nextLap = Bool()
    val previousLap = Bool()
    val lowBelow = Bool()
    val lowAbove = Bool()

    /** `top` - sequence number, modulo 1024. */
    val age = UInt(indexBits.W)
    val seen = Bool()
    val topAt = new Position
    val sequenceAt = new Position
  }

  /** First half. Number 0 counts as received: it is never sent (RFC 4303 2.2). */
  def compare(state: ReplayState, request: Request): Comparison = {
    val c = Wire(new Comparison)
    val topLow = state.top(indexBits - 1, 0)
    val topLap = state.top(63, indexBits)
    c.state := state
    c.sequence := request.sequence
    c.window := request.window
    c.ahead := request.sequence > state.top
    c.sameLap := topLap === request.lap
    c.nextLap := topLap === request.lapBefore
    c.previousLap := topLap === request.lapAfter
    c.lowBelow := request.low < topLow
    c.lowAbove := request.low > topLow
    c.age := topLow - request.low
    c.seen := state.received(request.low >> log2Ceil(wordBits))(request.low(
      log2Ceil(wordBits) - 1,
      0
    )) || request.sequence === 0.U
    c.topAt := Position(topLow)
    c.sequenceAt := Position(request.low)
    c
  }

  class Verdict extends Bundle {
    val replayed = Bool()
    val tooOld = Bool()
  }

  /** Second half: the verdict and the new state. A number that is refused changes nothing that a later one could see. */
  def update(c: Comparison): (Verdict, ReplayState) = {
    val slides = c.ahead && (c.sameLap || (c.nextLap && c.lowBelow))
    val jumps = c.ahead && !slides
    val inRing = !c.ahead && (c.sameLap || (c.previousLap && c.lowAbove))

    val verdict = Wire(new Verdict)
    verdict.tooOld := !c.ahead && (!inRing || c.age >= c.window)
    verdict.replayed := !c.ahead && !verdict.tooOld && c.seen

    val state = Wire(new ReplayState)
    state.top := Mux(c.ahead, c.sequence, c.state.top)
    for (w <- 0 until words) {
      // The numbers in (top, sequence], around the ring's end if the low part of the sequence number is the smaller.
      val aboveTop = ~c.topAt.upTo(w)
      val upToSequence = c.sequenceAt.upTo(w)
      val between = Mux(c.lowBelow, aboveTop | upToSequence, aboveTop & upToSequence)
      val cleared = Fill(wordBits, jumps) | (Fill(wordBits, slides) & between)
      val set = Fill(wordBits, c.ahead || inRing) & c.sequenceAt.at(w)
      state.received(w) := (c.state.received(w) & ~cleared) | set
    }
    (verdict, state)
  }
}
