// SPDX-License-Identifier: Apache-2.0
package sallyport.common.arithmetic

import chisel3._
import chisel3.util._

object LowestOne {
  private val group = 8

  /**
   * The number of the lowest 1 of `bits`, which have one. Of groups of eight bits the first that
   * has a 1, and the first in each group meanwhile: 4 LUT levels for 64 bits.
   *
   * @param bits
   *   16 or more, a power of two
   */
  def apply(bits: UInt): UInt = {
    require(isPow2(bits.getWidth) && bits.getWidth >= 2 * group, s"the lowest 1 of ${bits.getWidth} bits")
    val groups = bits.asBools.grouped(group).map(VecInit(_).asUInt).toSeq
    val first = PriorityEncoder(VecInit(groups.map(_.orR)))
    first ## VecInit(groups.map(PriorityEncoder(_)))(first)
  }
}
