// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.dispatch

import chisel3._
import chisel3.util._
import sallyport.crypto.dispatch.Merge
import sallyport.crypto.lane.Verdict
import sallyport.formal.harness.{Bug, Claim, Property}

/** Two lanes. Bit 0 of a beat says that its packet is not to leave, bit 1 that it is in clear. */
class MergeProperty
    extends Property(
      Claim(
        proves =
          "No beat of a packet leaves whose verdict is not good, and a beat says `bypass` exactly if it came past the lanes.",
        clause = "RFC 4303 3.4.4.1, Merge",
        bug = Bug("Merge", raw"= \|verdict;", "= 1'h0;"),
        assumes = Seq(
          "An order entry names one way: Dispatcher.",
          "A packet with another verdict than `ok` is one beat: LaneOutlet, LaneGuard.",
          "No lane has a bypass packet, and none else goes past the lanes: Dispatcher, KeyDecision."
        ),
        depth = 2,
        reach = 8
      )
    ) {
  private val lanes = 2
  private val dut = Module(new Merge(lanes))
  private val order = any(Valid(chiselTypeOf(dut.io.order.bits)))
  dut.io.order.valid := order.valid
  dut.io.order.bits := order.bits
  assume(PopCount(order.bits.target) === 1.U)
  dut.io.hold := any(Bool())
  dut.io.out.ready := any(Bool())
  for ((lane, n) <- dut.io.lane.zipWithIndex) {
    val beat = any(Valid(chiselTypeOf(lane.bits)))
    lane.valid := beat.valid
    lane.bits := beat.bits
    assume(beat.bits.data(0) === (beat.bits.meta.verdict =/= Verdict.ok) && !beat.bits.data(1))
    assume(!beat.bits.meta.meta.bypass && (!beat.bits.data(0) || beat.bits.last))
    // A bad verdict is known from a packet's first beat: none of its beats has another.
    when(spy("dut.first") === false.B && order.bits.target(n)) { assume(!beat.bits.data(0)) }
  }
  private val bypass = any(Valid(chiselTypeOf(dut.io.bypass.bits)))
  dut.io.bypass.valid := bypass.valid
  dut.io.bypass.bits := bypass.bits
  assume(bypass.bits.meta.bypass && bypass.bits.data(1, 0) === 2.U)

  private val out = dut.io.out
  when(out.valid) { assert(!out.bits.data(0) && out.bits.meta.bypass === out.bits.data(1)) }
  private def clean(place: String): Unit = {
    val data = spy(s"dut.slice.${place}_data", 512)
    assert(!data(0) && spy(s"dut.slice.${place}_meta_bypass") === data(1))
  }
  when(spy("dut.slice.outValid")) { clean("out") }
  when(spy("dut.slice.skidValid")) { clean("skid") }
  cover(out.valid && out.bits.data(1))
  cover(out.valid && !out.bits.data(1))
  cover(dut.io.event.valid && dut.io.event.bits.verdict =/= Verdict.ok)
}
