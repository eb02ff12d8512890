// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{PrefixChildRow, PrefixRow}
import sallyport.common.table.PackedRow

/**
 * One level of the tree of prefixes: finds the place of a key among the ends of its node, and with
 * it the group and the child of that place.
 *
 * A row that is not valid or has a flipped bit makes the look-up `upset`. Two flipped bits of a row
 * are not seen. A look-up whose tree starts below passes through, whatever the row says that it
 * reads. Latency [[PrefixLevel.latency]] cycles, a look-up a cycle.
 *
 * Children of the last level are those of trees of policies alone; in others their rows mean
 * nothing.
 *
 * @param rows  of the level
 * @param level its number, 0 for the first
 */
class PrefixLevel(rows: Int, level: Int) extends Module {
  private val last = level == PrefixNode.levels - 1
  private val indexBits = log2Ceil(rows)
  val io = IO(new Bundle {

    /** Registers. */
    val in = Input(new PrefixStep)
    val out = Output(new PrefixStep)
    val nodes = Flipped(new LevelPort(rows, PrefixLevel.nodeBits))
    val children = Flipped(new LevelPort(rows, PrefixLevel.childBits))

    /** A look-up met a wrong row. */
    val rowUpset = Output(Bool())
  })
  private def later[T <: Data](value: T, cycles: Int): T = ShiftRegister(value, cycles)
  private def join(memory: LevelMemory, port: LevelPort): Unit = {
    memory.io.access := port.access
    port.data := memory.io.found
    port.looked := memory.io.lookup.valid
  }

  private val nodes = Module(new LevelMemory(rows, PrefixLevel.nodeBits))
  join(nodes, io.nodes)
  nodes.io.lookup.valid := io.in.live
  nodes.io.lookup.bits := io.in.node(indexBits - 1, 0)
  private val word = nodes.io.found
  private val foundAt = LevelMemory.latency

  // Without an end that is reached and without a first place, the group and the node stay.
  private val passes = if (last) false.B else io.in.start > level.U
  private val passed = later(passes, foundAt + 2)

  // Ends that are not beyond the key: parts of it first, in one cycle, and then all of it.
  private val key = later(io.in.key, foundAt)
  private val partBits = 8
  private def parts(number: UInt): Seq[UInt] =
    Seq.tabulate(PrefixNode.keyBits / partBits)(n => number(partBits * (n + 1) - 1, partBits * n))
  private val reached = VecInit(PrefixNode.ends.map { end =>
    val compared = parts(key).zip(parts(end(word))).map { case (key, end) =>
      (RegNext(key >= end), RegNext(key > end))
    }
    // Above the end in the high parts, or equal in these and not below it in the low ones.
    def notBelow(parts: Seq[(Bool, Bool)]): (Bool, Bool) =
      if (parts.length == 1) parts.head
      else {
        val (low, high) = parts.splitAt(parts.length / 2)
        val (lowNotBelow, lowAbove) = notBelow(low)
        val (highNotBelow, highAbove) = notBelow(high)
        (highAbove || highNotBelow && lowNotBelow, highAbove || highNotBelow && lowAbove)
      }
    RegNext(notBelow(compared)._1 && !later(passes, foundAt + 1))
  })
  private val wrong = PrefixLevel.wrong(word) || later(!PrefixRow.valid(word), 2)
  private val beyond = later((io.in.node >> indexBits).orR, foundAt + 2)

  // The place is between the last end that is reached and the first that is not.
  private val place = (!passed +: reached).zip(reached :+ false.B).map { case (from, to) => from && !to }
  private val groups = later(VecInit(PrefixNode.groups.map(_(word))), 2)
  private val group = Mux1H(place, groups)
  private val before = later(io.in, foundAt + 2)

  io.out.live := ShiftRegister(io.in.live, PrefixLevel.latency, false.B, true.B)
  io.out.key := later(key, PrefixLevel.latency - foundAt)
  io.out.policies := RegNext(before.policies)
  io.out.start := RegNext(before.start)
  io.out.group := RegNext(Mux(group === 0.U, before.group, group))
  private val upset = RegNext((wrong || beyond) && !passed)
  private val upsetBefore = RegNext(before.upset)

  // The children's row comes when their place is known.
  private val children = Module(new LevelMemory(rows, PrefixLevel.childBits))
  join(children, io.children)
  children.io.lookup.valid := ShiftRegister(io.in.live, 2, false.B, true.B)
  children.io.lookup.bits := later(io.in.node(indexBits - 1, 0), 2)
  private val childWord = children.io.found
  private val childRow = PrefixLevel.children.unpack(childWord)
  io.out.node := RegNext(Mux1H(passed +: place, before.node +: PrefixNode.children.map(_(childRow))))
  private val childCounts = later(if (last) io.in.policies else !passes, foundAt + 2)
  private val childUpset = RegNext(childCounts && (childWord.xorR || !PrefixChildRow.valid(childRow)))
  private val here = upset || childUpset
  io.out.upset := upsetBefore || here
  io.rowUpset := RegNext(io.out.live && here && !upsetBefore, false.B)
}

object PrefixLevel {

  /** How rows are kept, below a bit of parity. */
  val nodes: PackedRow = PackedRow(PrefixRow)
  val children: PackedRow = PackedRow(PrefixChildRow)
  val nodeBits: Int = nodes.bits + 1
  val childBits: Int = children.bits + 1

  /** The row, the parts of its ends, the ends, the place. */
  val latency: Int = LevelMemory.latency + 3

  /** Bits whose parity one register sums up, in two LUT levels. */
  private val sumBits = 36

  /** Whether the parity of a row is wrong, two cycles later. */
  private def wrong(word: UInt): Bool = RegNext(
    RegNext(VecInit(word.asBools.grouped(sumBits).map(VecInit(_).asUInt.xorR).toSeq).asUInt).xorR
  )
}
