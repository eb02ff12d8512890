// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.aurora

import chisel3._

/**
 * The beats that a channel carries before its first word: a text, the channel's number in it, and
 * how many markers follow.
 *
 * Bits 15:0 are that count, 31:16 the same inverted, 255:32 the text in ASCII, its first letter
 * lowest. A receiver knows the place of the first word from any one of them, so bit errors in
 * others do no harm, and 240 bits have to be right before one counts. A channel whose cable is in
 * another channel's cage never trains.
 */
object TrainingMarker {
  val countBits: Int = 16

  private val textBits: Int = AuroraPort.beatBits - 2 * countBits

  private def text(channel: Int): UInt = {
    val letters = s"Sallyport channel $channel training"
    require(letters.length * 8 == textBits, s"the marker of channel $channel has ${letters.length} letters")
    BigInt(letters.reverse.getBytes("ASCII")).U(textBits.W)
  }

  /** The marker that `count` more follow. */
  def apply(channel: Int, count: UInt): UInt = {
    val padded = count.pad(countBits)
    text(channel) ## ~padded ## padded
  }

  /** Whether each sixteenth of a beat is as in a marker; the lowest two count as one. */
  def matches(channel: Int, beat: UInt): Seq[Bool] = {
    val count = beat(2 * countBits - 1, countBits) === ~beat(countBits - 1, 0)
    val parts = Seq.tabulate(textBits / 16)(part => beat(32 + 16 * part + 15, 32 + 16 * part))
    count +: parts.zipWithIndex.map { case (bits, part) => bits === text(channel)(16 * part + 15, 16 * part) }
  }
}
