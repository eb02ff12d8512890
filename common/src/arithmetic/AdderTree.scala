// SPDX-License-Identifier: Apache-2.0
package sallyport.common.arithmetic

import chisel3._

/**
 * Sums of many numbers in steps of three, each registered: one carry chain behind one LUT. No bit
 * is lost.
 */
object AdderTree {
  private val arity = 3

  /** Cycles from `count` numbers to their sum. */
  def latency(count: Int): Int = if (count == 1) 0 else 1 + latency((count + arity - 1) / arity)

  /** The sum of the `values` of `latency` cycles before. */
  def apply(values: Seq[UInt]): UInt =
    if (values.length == 1) values.head
    else AdderTree(values.grouped(arity).map(group => RegNext(group.reduce(_ +& _))).toSeq)
}
