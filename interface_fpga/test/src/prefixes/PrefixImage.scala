// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import sallyport.common.registers.map.{PrefixChildRow, PrefixRootRow, PrefixRow}

/** A prefix of the first 64 bits of an address, and the group or policy that it leads to. */
case class TestPrefix(v6: Boolean, key: BigInt, length: Int, group: Int) {
  private val size = BigInt(1) << (PrefixNode.keyBits - length)
  val first: BigInt = key / size * size
  val end: BigInt = first + size
  def holds(v6: Boolean, key: BigInt): Boolean = this.v6 == v6 && first <= key && key < end

  /** Holds all keys from `from` up to `to`. */
  def covers(from: BigInt, to: BigInt): Boolean = first <= from && to <= end
}

/** Rows of the tables of prefixes, in the order in which software writes them. */
case class PrefixRows(nodes: Seq[(Int, BigInt)], children: Seq[(Int, BigInt)], roots: Seq[(Int, BigInt)])

/**
 * A tree of prefixes, built at once: what the management software does by and by, in a few lines
 * of its own, so that the chip is not judged by that software.
 */
object PrefixImage {
  private val keys = BigInt(1) << PrefixNode.keyBits

  /** The group of a key's longest prefix, or 0: the definition. */
  def lookup(prefixes: Seq[TestPrefix], v6: Boolean, key: BigInt): Int =
    prefixes.filter(_.holds(v6, key)).maxByOption(_.length).fold(0)(_.group)

  /** Level at which the smallest tree for so many ends starts. */
  def start(ends: Int, fill: Int = 9): Int =
    PrefixNode.levels - 1 - Iterator.from(0).indexWhere(below => ends <= room(below, fill))

  /** Most ends of a tree with so many levels below its root. */
  private def room(below: Int, fill: Int): Int =
    if (below == 0) fill else (room(below - 1, fill) + 1) * (PrefixNode.ends.length + 1) - 1

  /**
   * @param fill ends of each node of the last level
   * @param firstRow of each level: rows before it stay as they are
   * @param policies prefixes of policies, which do not nest
   * @param start level of all roots, where it is not that of the smallest tree
   */
  def rows(
      prefixes: Seq[TestPrefix],
      fill: Int = 9,
      firstRow: Seq[Int] = Seq.fill(5)(0),
      policies: Seq[TestPrefix] = Nil,
      start: Option[Int] = None
  ): PrefixRows = {
    val next = firstRow.toArray
    val nodes, children, roots = Seq.newBuilder[(Int, BigInt)]

    def node(
        level: Int,
        first: Int,
        ends: Seq[BigInt],
        from: BigInt,
        to: BigInt,
        of: Seq[TestPrefix],
        ofPolicies: Boolean
    ): Int = {
      val row = next(level)
      next(level) += 1
      // Ends for this node: so many that each part fits the levels below.
      val below = PrefixNode.levels - 1 - level
      val part = if (below == 0) 0 else room(below - 1, fill)
      val own = if (below == 0) ends else ends.grouped(part + 1).filter(_.length == part + 1).map(_.last).toSeq
      require(own.length <= PrefixNode.ends.length, s"${ends.length} ends do not fit level $level")
      val places = (from +: own).zip(own :+ to)
      val whole = level == first
      val groups = places.map { case (start, end) =>
        val longest = of.filter(_.covers(start, end)).maxByOption(_.length)
        if (ofPolicies) 0 else longest.filter(p => whole || !p.covers(from, to)).fold(0)(_.group)
      }
      val endFields = PrefixNode.ends.zipWithIndex.map { case (field, n) => field.put(own.lift(n).getOrElse(keys - 1)) }
      val groupFields = groups.zip(PrefixNode.groups).map { case (group, field) => field.put(group) }
      val index = level << PrefixNode.rowBits | row
      nodes += index -> (PrefixRow.valid.put(1) | (endFields ++ groupFields).reduce(_ | _))
      val rows = places.zip(PrefixNode.children).map { case ((start, end), field) =>
        if (below > 0)
          field.put(node(level + 1, first, ends.filter(e => start < e && e < end), start, end, of, ofPolicies))
        else field.put(of.find(_.covers(start, end)).fold(0)(_.group))
      }
      if (below > 0 || ofPolicies) children += index -> (PrefixChildRow.valid.put(1) | rows.reduce(_ | _))
      row
    }

    for (ofPolicies <- Seq(false, true); v6 <- Seq(false, true)) {
      val of = (if (ofPolicies) policies else prefixes).filter(_.v6 == v6)
      val ends = of.flatMap(p => Seq(p.first, p.end)).filter(e => e > 0 && e < keys).distinct.sorted
      if (of.nonEmpty) {
        val first = start.getOrElse(this.start(ends.length, fill))
        val root = PrefixRootRow.node.put(node(first, first, ends, 0, keys, of, ofPolicies)) |
          PrefixRootRow.start.put(first) | PrefixRootRow.valid.put(1)
        roots += ((if (ofPolicies) 2 else 0) + (if (v6) 1 else 0)) -> root
      }
    }
    PrefixRows(nodes.result(), children.result(), roots.result())
  }
}
