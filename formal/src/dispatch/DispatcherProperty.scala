// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.dispatch

import chisel3._
import chisel3.util._
import sallyport.crypto.dispatch.{Dispatcher, Route}
import sallyport.formal.harness.{Bug, Claim, Property}

/** Two lanes, two jobs. The SA of a job says its route: bit 0 past the lanes, bit 1 to a lane. */
class DispatcherProperty
    extends Property(
      Claim(
        proves =
          "Only a packet of the route `lane` enters a lane, only one of `bypass` goes past them, and none begins while blocked.",
        clause = "RFC 4301 5.1, Dispatcher",
        bug = Bug("Dispatcher", raw"dropsFirst =\s+shut \|", "dropsFirst ="),
        depth = 3,
        reach = 12
      )
    ) {
  private val lanes = 2
  private val dut = Module(new Dispatcher(lanes, jobs = 2))
  private val beat = any(Valid(chiselTypeOf(dut.io.in.bits)))
  private val job = any(Valid(chiselTypeOf(dut.io.job.bits)))
  private val ready = any(UInt((lanes + 1).W))
  private val blocked = any(Bool())
  dut.io.in.valid := beat.valid
  dut.io.in.bits := beat.bits
  dut.io.job.valid := job.valid
  dut.io.job.bits := job.bits
  dut.io.blocked := blocked
  dut.io.closed := any(Bool())
  dut.io.failed := any(UInt(lanes.W))
  // A packet of the self-test enters a lane as one of the route `lane` does.
  private val test = any(Valid(chiselTypeOf(dut.io.test.beat.bits)))
  private val testLane = any(UInt(lanes.W))
  dut.io.test.request := any(Bool())
  dut.io.test.beat.valid := test.valid
  dut.io.test.beat.bits := test.bits
  dut.io.test.lane := testLane
  assume(PopCount(testLane) === 1.U && test.bits.meta.meta.sa(1))
  for (n <- 0 until lanes) {
    dut.io.lane(n).ready := ready(n)
    dut.io.room(n) := any(Vec(2, Bool()))
  }
  dut.io.bypass.ready := ready(lanes)
  private val sa = job.bits.lane.meta.sa
  assume(sa(0) === (job.bits.route === Route.bypass) && sa(1) === (job.bits.route === Route.lane))

  for (lane <- dut.io.lane) when(lane.valid) { assert(lane.bits.meta.meta.sa(1)) }
  when(dut.io.bypass.valid) { assert(dut.io.bypass.bits.meta.sa(0)) }
  assert(!(running && blocked && before(blocked) && dut.io.order.valid))

  // Which states are possible: the jobs that wait, and the beat at the output.
  private val write = spy("dut.jobQueue.write", 2)
  private val read = spy("dut.jobQueue.read", 2)
  private val count = write - read
  assert(count <= 2.U && spy("dut.jobQueue.some") === (count =/= 0.U))
  for (n <- 0 until 2) {
    val route = spy(s"dut.jobQueue.slots_${n}_route", 4)
    val mark = spy(s"dut.jobQueue.slots_${n}_lane_meta_sa", 16)
    when(Mux(read(0) === n.U, count >= 1.U, count === 2.U)) {
      assert(route =/= Route.bypass.asUInt || mark(0))
      assert(route =/= Route.lane.asUInt || mark(1))
      when(read(0) === n.U) { assert(spy("dut.jobQueue.route", 4) === route) }
    }
  }
  private val target = spy("dut.target", lanes + 1)
  private val mark = spy("dut.stageJob_lane_meta_sa", 16)
  // A packet of the self-test enters an empty output, and is no first beat there.
  assert(spy("dut.stageValid") || !spy("dut.stageFirst"))
  // Later beats of a packet go where its first one went.
  when(spy("dut.stageValid") || !spy("dut.first") && !spy("dut.dropping")) {
    assert(PopCount(target) === 1.U)
    assert(Mux(target(lanes), mark(0), mark(1)))
  }
  cover(dut.io.lane(1).fire && dut.io.lane(1).bits.last)
  cover(dut.io.bypass.fire)
  cover(dut.io.drop.valid && before(before(blocked)))
}
