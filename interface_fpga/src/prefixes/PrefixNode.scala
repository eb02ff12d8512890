// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import sallyport.common.registers.map.{PrefixChildRow, PrefixRootRow, PrefixRow, RowField}

/** The shape of the tree of prefixes, and where a node's parts stand in its rows. */
object PrefixNode {

  /** Bits of an address that the tree looks at. */
  val keyBits: Int = 64

  /** Levels of the largest tree. A look-up goes through all of them, whatever its tree has. */
  val levels: Int = 5

  /** Bits of a node's row in its level; above them an index of software has the level. */
  val rowBits: Int = PrefixRootRow.node.width

  private def numbered(fields: Seq[(String, RowField)], name: String): Seq[RowField] =
    fields.collect { case (field, place) if field.matches(s"$name[0-9]+") => place }
  val ends: Seq[RowField] = numbered(PrefixRow.fields, "end")
  val groups: Seq[RowField] = numbered(PrefixRow.fields, "group")
  val children: Seq[RowField] = numbered(PrefixChildRow.fields, "child")

  /**
   * Rows of the levels, the first one first. A node has 8 children or more unless it is a root,
   * which has two or more. A tree starts at the level that it needs, so many small trees take rows
   * of the last levels alone. A change needs room for new nodes beside the old ones, which the
   * levels at the top have besides.
   *
   * @param last rows of the last level, a power of two from 128
   */
  def rows(last: Int): Seq[Int] = {
    require(
      last >= 128 && last <= (1 << rowBits) && (last & (last - 1)) == 0,
      s"the last level of prefixes has $last rows, but a power of two from 128 to ${1 << rowBits} can be"
    )
    Seq(8, 32, 64, last / 8, last)
  }
}

/** A look-up between two levels. */
class PrefixStep extends Bundle {
  val live = Bool()
  val key = UInt(PrefixNode.keyBits.W)

  /** Level of the tree's root; those above it pass the step on as it is. */
  val start = UInt(PrefixRootRow.start.width.W)

  /** Row of the next level, or of the root's; behind the last one, of `prefix_policy`. */
  val node = UInt(PrefixChildRow.child0.width.W)

  /** In a tree of policies: the children of the last level count. */
  val policies = Bool()

  /** Of the longest prefix so far; 0 of none. */
  val group = UInt(PrefixRow.group0.width.W)

  /** A row was wrong, and with it everything after it. */
  val upset = Bool()
}
