// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{FlowRow, PrefixChildRow, PrefixRow}
import sallyport.common.table.TablePort

/** An address as far as prefixes look at it. */
class PrefixKey extends Bundle {

  /** Network that it is of. */
  val network = UInt(FlowRow.network.width.W)
  val v6 = Bool()

  /** Its first 64 bits; of IPv4 32 bits and zeros below. */
  val address = UInt(PrefixNode.keyBits.W)
}

object PrefixKey {

  /** @param address as a number of 128 bits; of IPv4 with zeros above */
  def apply(network: UInt, v6: Bool, address: UInt): PrefixKey = {
    val key = Wire(new PrefixKey)
    key.network := network
    key.v6 := v6
    key.address := Mux(v6, address.head(PrefixNode.keyBits), address(31, 0) << 32)
    key
  }
}

/** Whose longest prefix is looked for. */
class PrefixQuery extends Bundle {

  /** Of policies; else of routes. */
  val policies = Bool()
  val key = new PrefixKey
}

/** Software's tables of all trees. */
class PrefixTables extends Bundle {
  val node = Flipped(new TablePort)
  val child = Flipped(new TablePort)
  val root = Flipped(new TablePort)
}

/**
 * Longest-prefix match by B-trees of the ends of prefixes (H. Lu, S. Sahni, "A B-Tree Dynamic
 * Router-Table Design", IEEE Transactions on Computers 54, 2005). Routes and policies have a tree
 * for each IP version of each network, and all of them share the rows ([[PrefixRoots]]).
 *
 * A tree starts at the level that its root names, and a look-up passes through those above.
 *
 * The ends cut the addresses into places. A place of a node has the group of the longest prefix
 * that holds the whole place and not the whole node. So the last group on the way down is that of
 * the longest prefix; 0 is none. Prefixes of policies do not nest, so each is a place of the last
 * level, whose child is the policy.
 *
 * Software writes new nodes to rows that no way reaches, and then a row of `root`. So a look-up
 * meets the tree before a change or the one after it. It may use rows of the old tree with its
 * next change: a row takes longer to write than a look-up.
 *
 * Latency [[PrefixTree.latency]] cycles, a look-up a cycle ([[PrefixTurns]]). An access of software
 * waits for a cycle without a look-up at its level. While `ready` is low nothing is found.
 *
 * @param last     rows of the last level: [[PrefixNode.rows]]
 * @param networks that have trees, a power of two; queries name no others
 */
class PrefixTree(last: Int, networks: Int = 1) extends Module {
  val io = IO(new Bundle {
    val query = Flipped(Valid(new PrefixQuery))

    /** Of routes. */
    val group = Output(UInt(PrefixRow.group0.width.W))

    /** Of policies; 0 is none. A register, which means nothing while `live` is low. */
    val policy = Output(UInt(PrefixChildRow.child0.width.W))

    /** The look-up was one of policies, and they have a tree. A register. */
    val live = Output(Bool())

    /** The answer may be another, for a row has a flipped bit. */
    val upset = Output(Bool())

    /** A look-up of routes, or of policies, met such a row. */
    val routeRowUpset = Output(Bool())
    val policyRowUpset = Output(Bool())
    val tables = new PrefixTables
    val ready = Output(Bool())
  })
  private val rows = PrefixNode.rows(last)
  private val nodes = Module(new LevelAccess(rows, PrefixRow))
  private val children = Module(new LevelAccess(rows, PrefixChildRow))
  nodes.io.table <> io.tables.node
  children.io.table <> io.tables.child

  private val roots = Module(new PrefixRoots(networks))
  roots.io.table <> io.tables.root
  roots.io.query := io.query.bits
  private val ready = RegNext(nodes.io.ready && children.io.ready && roots.io.ready, false.B)
  private val root = roots.io.root
  private val first = Wire(new PrefixStep)
  // A root that is not there leads anywhere, and the answer does not count: what the levels read
  // must not wait for the root's parity.
  first.live := RegNext(io.query.valid && ready, false.B)
  first.policies := RegNext(io.query.bits.policies)
  first.key := RegNext(io.query.bits.key.address)
  first.start := root.start
  first.node := root.node
  first.group := 0.U
  first.upset := root.upset || !root.valid

  /** Of the look-ups that `which` tells, with an answer: there is a tree. A register. */
  private def counted(which: Bool): Bool = {
    val hasTree = RegNext(root.valid || root.upset) && RegNext(which, false.B)
    ShiftRegister(hasTree, PrefixTree.latency - 2, false.B, true.B)
  }

  private val levels = rows.zipWithIndex.map { case (rows, n) =>
    val level = Module(new PrefixLevel(rows, n))
    level.io.nodes <> nodes.io.levels(n)
    level.io.children <> children.io.levels(n)
    level
  }
  levels.head.io.in := first
  levels.zip(levels.tail).foreach { case (level, next) => next.io.in := level.io.out }
  private val found = levels.last.io.out
  private val counts = counted(first.live)
  io.group := Mux(counts, found.group, 0.U)
  io.upset := counts && found.upset
  io.policy := found.node
  io.live := counted(first.live && first.policies)
  private def upsets(of: Bool => Bool): Bool = {
    val which = (first.live && root.upset && of(first.policies)) +:
      levels.map(level => level.io.rowUpset && of(RegNext(level.io.out.policies)))
    RegNext(VecInit(which).asUInt.orR, false.B)
  }
  io.routeRowUpset := upsets(!_)
  io.policyRowUpset := upsets(policies => policies)
  io.ready := ready
}

object PrefixTree {

  /** The root, and all levels. */
  val latency: Int = 1 + PrefixNode.levels * PrefixLevel.latency
}
