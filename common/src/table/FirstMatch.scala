// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._

/**
 * The lowest bit that is set, in groups: the first in each group, then the first group that
 * has one.
 *
 * A pipeline without stalls; `index` belongs to the `matches` of [[FirstMatch.latency]] cycles
 * before and is valid if any bit of it was set.
 *
 * `doubts` come with `matches` and mark groups of [[RuleMatch.groupRows]] rows that may match
 * anything. `upset` comes with `index`: it is valid, and a marked group is in the group of the
 * first match, or before any match.
 */
class FirstMatch(p: TernaryTableParams) extends Module {
  import FirstMatch._

  val io = IO(new Bundle {
    val matches = Input(UInt(p.rows.W))
    val doubts = Input(Vec(p.rows / RuleMatch.groupRows, UInt(RuleMatch.doubtBits(p).W)))
    val index = Valid(UInt(p.indexBits.W))
    val upset = Output(Bool())
  })

  private val groups = io.matches.asBools.grouped(groupRows(p)).toSeq
  private val doubted = groups.indices.map { group =>
    val first = group * groupRows(p)
    val marks = (first until first + groupRows(p)).map(_ / RuleMatch.groupRows).distinct
    VecInit(marks.map(io.doubts(_).orR)).asUInt.orR
  }
  private val any = RegNext(VecInit(groups.zip(doubted).map { case (group, doubt) =>
    VecInit(group).asUInt.orR || doubt
  }))
  private val firstIn = groups.map(group => RegNext(lowest(group)))

  private def hold[T <: Data](value: T): T = if (p.large) RegNext(value) else value
  private val group = hold(lowest(any))
  private val within = Mux1H(group, firstIn.map(first => hold(OHToUInt(first))))
  io.index.valid := RegNext(group.asUInt.orR, false.B)
  io.index.bits := RegNext(Cat(OHToUInt(group), within))
  io.upset := RegNext(Mux1H(group, doubted.map(doubt => hold(RegNext(doubt)))), false.B)
}

object FirstMatch {

  private def groupRows(p: TernaryTableParams): Int = if (p.large) 16 else 4

  /** First in each group, (first group,) number. */
  def latency(p: TernaryTableParams): Int = if (p.large) 3 else 2

  /**
   * One-hot of the lowest bit set. By fours, and the first four that have one in the same way: 5
   * LUT levels for 64 bits, where a comparison of each bit with all below it became a chain of 7.
   */
  private def lowest(bits: Seq[Bool]): Vec[Bool] = {
    val fours = bits.grouped(4).toSeq
    val within = fours.flatMap(four => four.indices.map(i => four(i) && !four.take(i).foldLeft(false.B)(_ || _)))
    if (fours.size == 1) VecInit(within)
    else {
      val first = lowest(fours.map(VecInit(_).asUInt.orR))
      VecInit(within.zipWithIndex.map { case (bit, i) => bit && first(i / 4) })
    }
  }
}
