// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.dispatch

import chisel3._
import chisel3.util._
import sallyport.crypto.dispatch.{OrderArbiter, OrderEntry}
import sallyport.crypto.lane.LanePorts
import sallyport.formal.harness.{Bug, Claim, Property}

/**
 * Two lanes, and room for 4 packets of a class that wait for their grant. One entry of any class is
 * marked as it comes, and those of its class in front of it are counted. A lane that has failed
 * counts as one that offers.
 */
class OrderArbiterProperty
    extends Property(
      Claim(
        proves =
          "Packets of a class leave once, in the order they came; a lane is granted what it offers, in 3 cycles if Merge has room.",
        clause = "OrderArbiter",
        bug = Bug("OrderArbiter", raw"\{io_offer_1_1, io_offer_0_1\}", "{io_offer_1_0, io_offer_0_1}"),
        assumes = Seq(
          "An entry names one way: Dispatcher.",
          "No more than `packets` of a class wait: each has a slot of a lane or a place in the bypass queue, LaneFarm."
        ),
        depth = 2,
        reach = 9
      )
    ) {
  private val lanes = 2
  private val packets = 4
  private val dut = Module(new OrderArbiter(lanes, _ => packets))
  private val in = any(Valid(new OrderEntry(lanes)))
  private val offer = any(Vec(lanes, Vec(2, Bool())))
  private val failed = any(UInt(lanes.W))
  dut.io.in := in
  dut.io.offer := offer
  dut.io.failed := failed
  dut.io.out.ready := any(Bool())
  assume(PopCount(in.bits.target) === 1.U)
  private val out = dut.io.out

  // Where entries are inside: first a queue for each class, then one for granted packets.
  private case class Place(holds: Bool, entry: OrderEntry)
  private def named(holds: Bool, path: String): Place = {
    val entry = Wire(new OrderEntry(lanes))
    entry.target := spy(s"${path}_target", lanes + 1)
    entry.fast := spy(s"${path}_fast")
    entry.epoch := spy(s"${path}_epoch")
    Place(holds, entry)
  }
  private val queues = Seq("", "_1").map { suffix =>
    val (queue, slice) = (s"dut.heads_queue$suffix", s"dut.heads_slice$suffix")
    val outValid = spy(s"$slice.outValid")
    val skidValid = spy(s"$slice.skidValid")
    val stored = spy(s"$queue.count", 3)
    val read = spy(s"$queue.read", 2)
    assert(spy(s"$queue.some") === (stored =/= 0.U) && stored <= packets.U && (outValid || !skidValid))
    assert(spy(s"$queue.write", 2) === read + stored(1, 0))
    val rows = VecInit.tabulate(packets)(n => spy(s"$queue.ring_ext.Memory[$n]", lanes + 3))
    val ring = Seq.tabulate(packets)(n => Place(n.U < stored, rows((read + n.U)(1, 0)).asTypeOf(new OrderEntry(lanes))))
    val fresh = spy(s"$queue.fresh")
    // Oldest first, with how many of the class stand in front of each.
    val count = outValid +& skidValid +& stored +& fresh
    val places = Seq(named(outValid, s"$slice.out"), named(skidValid, s"$slice.skid")) ++ ring :+
      named(fresh, s"$queue.freshBits")
    val indices = places.scanLeft(0.U(4.W))((index, place) => index + place.holds)
    (count, places.zip(indices))
  }
  private val merging = Seq.tabulate(LanePorts.grants)(n => named(spy(s"dut.merging.valid_$n"), s"dut.merging.bits_$n"))
  for ((place, behind) <- merging.zip(merging.tail)) assert(place.holds || !behind.holds)
  private val room = spy("dut.merging.room")
  assert(room === !merging.last.holds)
  for (((count, places), fast) <- queues.zip(Seq(false.B, true.B))) {
    assume(!(in.valid && in.bits.fast === fast) || count < packets.U)
    assert(count <= packets.U)
    for ((place, _) <- places) assert(!place.holds || place.entry.fast === fast)
  }
  for (place <- merging ++ queues.flatMap(_._2.map(_._1)))
    assert(!place.holds || PopCount(place.entry.target) === 1.U)

  // Of any class: how many are inside, and how many of these in front of the marked one.
  private val fast = some(Bool())
  private val comes = in.valid && in.bits.fast === fast
  private val leaves = out.fire && out.bits.fast === fast
  private val inside = RegInit(0.U(5.W))
  inside := inside + comes - leaves
  private val marks = any(Bool())
  private val marked = RegInit(false.B)
  private val mark = Reg(new OrderEntry(lanes))
  private val ahead = RegInit(0.U(5.W))
  when(!marked && marks && comes) {
    marked := true.B
    mark := in.bits
    ahead := inside - leaves
  }.elsewhen(marked && leaves) {
    marked := ahead =/= 0.U
    ahead := ahead - 1.U
  }
  assert(!leaves || inside =/= 0.U)
  private def same(entry: OrderEntry): Bool = entry.asUInt === mark.asUInt
  when(leaves && marked && ahead === 0.U) { assert(same(out.bits)) }

  // A grant, of any lane: it offers, and what it was granted leaves.
  for (lane <- 0 until lanes; kind <- 0 to 1)
    assert(!dut.io.grant(lane)(kind) || offer(lane)(kind) || failed(lane))
  assert(PopCount(dut.io.grant.asUInt) <= 1.U)
  private val lane = some(UInt(1.W))
  private val granted = RegInit(0.U(5.W))
  granted := granted + dut.io.grant(lane)(fast) - (leaves && out.bits.target(lane))
  assert(granted <= LanePorts.grants.U && !(leaves && out.bits.target(lane) && granted === 0.U))

  // Which states are possible.
  private val ofClass = merging.map(place => place.holds && place.entry.fast === fast)
  private val through = PopCount(ofClass)
  private val waiting = Mux(fast, queues(1)._1, queues(0)._1)
  assert(inside === waiting +& through && (!marked || ahead < inside))
  assert(granted === PopCount(merging.zip(ofClass).map { case (place, of) => of && place.entry.target(lane) }))
  for (((place, of), n) <- merging.zip(ofClass).zipWithIndex)
    assert(!(marked && of && ahead === PopCount(ofClass.take(n))) || same(place.entry))
  for (((_, places), kind) <- queues.zip(Seq(false.B, true.B)); (place, index) <- places)
    assert(!(marked && fast === kind && place.holds && ahead === through +& index) || same(place.entry))

  // The first of its class, which is finished, waits for one of the other class at most: it is
  // granted in the third cycle. It stands in the register of its queue from the second one on.
  private val offers = mark.target(lanes) || (mark.target & (VecInit(offer.map(_(fast))).asUInt | failed)).orR
  private val first = marked && ahead === through
  private val since = RegInit(0.U(2.W))
  since := Mux(first && offers && room, since + 1.U, 0.U)
  private val atHead = Mux(fast, queues(1)._2.head._1.holds, queues(0)._2.head._1.holds)
  private val turn = spy("dut.fastNext") === fast
  when(first) { assert(since =/= 3.U && (since === 0.U || atHead) && (since =/= 2.U || turn)) }
  cover(marked && leaves && ahead === 0.U && before(ahead) =/= 0.U)
  cover(out.fire && out.bits.target(lanes))
  cover(first && since === 2.U)
}
