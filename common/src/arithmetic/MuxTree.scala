// SPDX-License-Identifier: Apache-2.0
package sallyport.common.arithmetic

import chisel3._
import chisel3.util._

object MuxTree {

  /**
   * The choice at `index`, by a tree of multiplexers: four choices fill a LUT. An index into a Vec
   * becomes a case statement, and yosys makes up to 2.5 times the LUTs of it.
   *
   * @param choices
   *   a power of two of them, one for each value of as many bits of `index`
   */
  def apply[T <: Data](index: UInt, choices: Seq[T]): T = {
    require(isPow2(choices.size), s"${choices.size} choices: give a power of two")
    (0 until log2Ceil(choices.size))
      .foldLeft(choices)((left, i) => left.grouped(2).map(pair => Mux(index(i), pair.last, pair.head)).toSeq)
      .head
  }
}
