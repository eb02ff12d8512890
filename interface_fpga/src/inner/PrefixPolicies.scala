// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.queue.RingDelay
import sallyport.common.registers.map.PrefixPolicyRow
import sallyport.common.table.{DirectTable, DirectTableParams, PackedRow, TablePort}
import sallyport.iface.prefixes.{PolicyPlace, PrefixKey, PrefixNode, PrefixTurns}

/**
 * The SPD entries from a prefix to a prefix (table `prefix_policy`): the tree of policies finds a
 * row by a packet's destination, and the packet's source decides whether it counts, or the row that
 * it names as next.
 *
 * An ICMP error and the return traffic of the packet in it go to the same destination, so one pair
 * of rows meets both sources ([[sallyport.iface.parse.ReturnTraffic]]).
 *
 * A packet every second cycle. Rows are read in odd cycles alone: the first as its place comes, the
 * second an odd number of cycles later, in a cycle that no place has.
 *
 * @param rows of the table, a power of two
 */
class PrefixPolicies(rows: Int) extends Module {
  private val indexBits = log2Ceil(rows)
  val io = IO(new Bundle {

    /** A packet's destination is asked of the tree, or has no place there. */
    val packet = Input(Bool())

    /** Of that packet, [[PrefixTurns.latency]] cycles later, or a cycle early. */
    val place = Input(new PolicyPlace)

    /**
     * [[PrefixPolicies.sourceTime]] cycles after `packet` that packet's source, and a cycle before
     * that of the return traffic.
     */
    val source = Input(new PrefixKey)

    /** Of the source [[PrefixPolicies.matchLatency]] cycles before. */
    val answer = Output(new SpdAnswer)

    /** It may be another, for a row has a flipped bit or is not there. */
    val upset = Output(Bool())

    /** A look-up met such a row of this table. */
    val rowUpset = Output(Bool())
    val table = Flipped(new TablePort)
    val ready = Output(Bool())
  })
  private val table = Module(
    new DirectTable(
      DirectTableParams(rows, PrefixPolicyRow.bits, PrefixPolicyRow.valid, gaps = PrefixPolicyRow.gaps)
    )
  )
  private val packing = PackedRow(PrefixPolicyRow)
  table.io.table <> io.table
  table.io.clear := false.B
  io.ready := table.io.ready

  // The row of the place, and the one that it names.
  require(table.latency % 2 == 1, "the second row is read in a cycle without a place")
  private val first = io.place.live
  private val result = table.io.result
  private val isRow = ShiftRegister(io.place.row =/= 0.U, table.latency)
  private val answersFirst = ShiftRegister(first, table.latency, false.B, true.B) && isRow
  private val next = PrefixPolicyRow.next(result.bits.row)
  private val second = answersFirst && result.bits.hit && next =/= 0.U
  table.io.lookup.valid := first || second
  private val index = Mux(first, io.place.row, next)
  table.io.lookup.bits := index(indexBits - 1, 0)
  assert(!first || !second, "one row a cycle")
  private val beyond = ShiftRegister((index >> indexBits).orR, table.latency)
  private val answersSecond = ShiftRegister(second, table.latency, false.B, true.B)

  private class Entry extends Bundle {
    val hit = Bool()
    val row = UInt(packing.bits.W)
  }
  private def entry(asked: Bool): Entry = {
    val entry = Wire(new Entry)
    entry.hit := asked && result.bits.hit && !beyond
    entry.row := packing.pack(result.bits.row)
    entry
  }
  private val wrong = (answersFirst || answersSecond) && (!result.bits.hit || beyond)
  io.rowUpset := RegNext(wrong, false.B)
  private val pair = Seq(RingDelay(entry(answersFirst), table.latency), entry(answersSecond))
  private val placeUpset = ShiftRegister(io.place.upset, 2 * table.latency, false.B, true.B)
  private val upset = placeUpset || ShiftRegister(answersFirst && wrong, table.latency, false.B, true.B) ||
    answersSecond && wrong

  // Both stay for the two cycles in which the two sources meet them.
  private val early = ShiftRegister(io.place.early, 2 * table.latency)
  private val loads = ShiftRegister(io.packet, PrefixPolicies.loadTime, false.B, true.B)
  private val keeps = RegNext(early)
  private def inTime[T <: Data](value: T): T = Mux(keeps, RegNext(value), value)
  private val entries = pair.map(entry => RegEnable(inTime(entry), loads))
  private val masks = pair.map { entry =>
    val length = PrefixPolicyRow.srcLength(packing.unpack(inTime(entry).row))
    RegEnable(Cat((0 until PrefixNode.keyBits).map(n => length > n.U)), loads)
  }
  private val upset1 = RegEnable(inTime(upset), loads)

  // Whether the source is of a row's prefix: groups of its bits first.
  private def matches(entry: Entry, mask: UInt): Bool = {
    val differs = (io.source.address ^ PrefixPolicyRow.srcPrefix(packing.unpack(entry.row))) & mask
    val parts = RegNext(VecInit(differs.asBools.grouped(8).map(VecInit(_).asUInt.orR).toSeq))
    RegNext(entry.hit) && !parts.asUInt.orR
  }
  private val matched = entries.zip(masks).map { case (entry, mask) => matches(entry, mask) }
  private val answers = entries.map { entry =>
    val row = RegNext(entry.row)
    SpdAnswer.of(packing.unpack(row))
  }
  private val chosen = Mux(matched.head, answers.head, answers.last)
  private val answer = WireDefault(chosen)
  answer.hit := matched.reduce(_ || _)
  io.answer := RegNext(answer)
  io.upset := ShiftRegister(upset1, 2)
}

object PrefixPolicies {

  /** Cycles from a packet to its rows: its place, and both rows. */
  private val loadTime: Int = PrefixTurns.latency + 2 * DirectTable.latency

  /** Cycles from a packet to the cycle in which its source meets them, the second of two. */
  val sourceTime: Int = loadTime + 2

  /** Cycles from a source to the answer. */
  val matchLatency: Int = 2
}
