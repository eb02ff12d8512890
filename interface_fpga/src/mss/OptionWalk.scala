// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mss

import chisel3._
import chisel3.util._

/**
 * How far the walk over the options of a TCP header has come (RFC 9293 3.1): a kind, a length that
 * counts both and the rest of the option; kinds 0, the end, and 1, no operation, are one byte.
 */
class OptionWalk extends Bundle {

  /** Bytes before the next option begins; `skips(n)` says whether it is n. */
  val skip = UInt(OptionWalk.countBits.W)
  val skips = Vec(OptionWalk.stepBytes, Bool())

  /** The option is found, the list ends, or a length is impossible: nothing more is read. */
  val done = Bool()
  val found = Bool()

  /** With `found`: byte of the options where the value begins, and the value. */
  val at = UInt(OptionWalk.countBits.W)
  val value = UInt(16.W)
}

/** What a byte of a step would mean, if an option began there. */
class OptionByte extends Bundle {
  val isEnd = Bool()
  val isMss = Bool()

  /** Whether the option is n + 1 bytes long; behind an end none begins. */
  val isLong = Vec(OptionWalk.stepBytes, Bool())

  /** Bytes of it behind the step, if there are any. */
  val left = UInt(OptionWalk.countBits.W)
}

object OptionWalk {

  /** Most bytes of options, and bits for a count of them. */
  val maxBytes: Int = 40
  val countBits: Int = log2Ceil(maxBytes + 1)

  /** Bytes of the options that a step takes, and that it looks at. */
  val stepBytes: Int = 4
  val seenBytes: Int = stepBytes + 3
  private val nop: Int = 1
  private val mssKind: Int = 2
  private val mssBytes: Int = 4

  def start: OptionWalk = {
    val walk = WireDefault(0.U.asTypeOf(new OptionWalk))
    walk.skips(0) := true.B
    walk
  }

  /** What byte `n` of a step says, with the byte behind it. */
  def meaning(n: Int, kind: UInt, length: UInt): OptionByte = {
    val byte = Wire(new OptionByte)
    byte.isEnd := kind === 0.U || kind =/= nop.U && (length < 2.U || length > maxBytes.U)
    byte.isMss := kind === mssKind.U && length === mssBytes.U
    for ((isLong, i) <- byte.isLong.zipWithIndex)
      isLong := (if (i == 0) kind === nop.U else kind > nop.U && length === (i + 1).U)
    byte.left := Mux(kind === nop.U, 0.U, (length - (stepBytes - n).U)(countBits - 1, 0))
    byte
  }

  /**
   * Takes the bytes of a step; `first` is the place of the first one in the options. Four LUT
   * levels.
   *
   * @param meanings those of its bytes
   * @param bytes    its bytes and three more
   * @param words    32-bit words of options that the header has
   */
  def step(before: OptionWalk, first: Int, meanings: Seq[OptionByte], bytes: Seq[UInt], words: UInt): OptionWalk = {
    // Where options begin: behind the last one that began, or where the one before the step ends.
    val starts = (0 until stepBytes).foldLeft(Seq.empty[Bool]) { (starts, n) =>
      val behind = starts.indices.reverse.map(i => starts(i) -> meanings(i).isLong(n - i - 1))
      starts :+ (!before.done && MuxCase(before.skips(n), behind))
    }
    val finds = starts.zip(meanings).zipWithIndex.map { case ((here, meaning), n) =>
      here && meaning.isMss && words >= ((first + n + mssBytes + 3) / 4).U
    }
    val ends = starts.zip(meanings).map { case (here, meaning) => here && meaning.isEnd }
    val walk = WireDefault(before)
    walk.skip := MuxCase(
      before.skip - stepBytes.U,
      starts.zip(meanings).reverse.map { case (here, meaning) => here -> meaning.left }
    )
    for ((skips, n) <- walk.skips.zipWithIndex) skips := walk.skip === n.U
    walk.done := before.done || (finds ++ ends).reduce(_ || _)
    walk.found := before.found || finds.reduce(_ || _)
    for ((find, n) <- finds.zipWithIndex) when(find) {
      walk.at := (first + n + 2).U
      walk.value := Cat(bytes(n + 2), bytes(n + 3))
    }
    walk
  }
}
