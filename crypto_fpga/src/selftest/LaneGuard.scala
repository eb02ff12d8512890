// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import chisel3._
import chisel3.util._
import sallyport.crypto.lane.{LanePorts, Verdict}

/** What the self-test sees of a lane, all registers. */
class LaneView extends Bundle {

  /** Nothing enters it, and nothing is in it. */
  val empty = Bool()

  /** Nothing enters it, is in it or waits at its exit, even if it owes earlier packets. */
  val still = Bool()

  /** It has done nothing for too long. */
  val hung = Bool()
  val room = Vec(2, Bool())
  val offer = Vec(2, Bool())

  /** A beat at its exit; `word` is the one that was selected a cycle before. */
  val valid = Bool()
  val facts = new AnswerFacts
  val word = UInt(64.W)
}

/** What becomes of a lane, all registers. */
class LaneOrder extends Bundle {

  /** No packet of the traffic may begin to enter it. */
  val away = Bool()

  /** What it offers and what leaves it belongs to the self-test. */
  val tested = Bool()

  /** It has failed: nothing enters it, and each packet that waits for it is lost. */
  val failed = Bool()
  val grant = Vec(2, Bool())
  val take = Bool()
  val select = UInt(log2Ceil(AnswerLayout.beatWords).W)
}

/**
 * Stands around a lane: its ports go to the traffic, to the self-test, or nowhere.
 *
 * While the lane works and is not under test, its ports pass unchanged. Of a failed lane, each
 * packet that was sent there comes out as one empty beat with the verdict `laneFailed`, so that
 * nothing waits for it. The traffic takes a failed lane's `in` for ready, and its packets for
 * offered: these begin long paths. An output that has begun is not cut off: a lane that stops in
 * the middle of one holds up its path.
 *
 * A lane hangs if it holds a beat, or a packet and offers none, or one that was granted does not
 * come, for `hangCycles`. What stalls behind the lane does not count.
 *
 * @param packets
 *   that a lane may hold
 */
private[crypto] class LaneGuard(hangCycles: Int, packets: Int) extends Module {
  val io = IO(new Bundle {
    val lane = Flipped(new LanePorts)
    val traffic = new LanePorts
    val order = Input(new LaneOrder)
    val view = Output(new LaneView)
  })
  private val (lane, traffic, order) = (io.lane, io.traffic, io.order)

  // An output that has begun ends as it began.
  private val inside = RegInit(false.B)
  when(lane.out.fire) { inside := !lane.out.bits.last }
  private val losing = RegInit(false.B)
  private val lost = losing && order.failed
  losing := order.failed && (losing || !(inside || lane.out.fire))

  lane.zeroize := traffic.zeroize
  lane.in.valid := traffic.in.valid && !order.failed
  lane.in.bits := traffic.in.bits
  traffic.in.ready := lane.in.ready
  traffic.busy := lane.busy
  for (kind <- 0 to 1) {
    traffic.room(kind) := lane.room(kind) && !order.away
    traffic.offer(kind) := lane.offer(kind)
    lane.grant(kind) := Mux(order.tested, order.grant(kind), traffic.grant(kind) && !order.failed)
  }

  traffic.out.bits := lane.out.bits
  traffic.out.valid := lost || (lane.out.valid && !order.tested)
  lane.out.ready := Mux(order.tested, order.take, traffic.out.ready && !lost)
  when(lost) {
    traffic.out.bits.last := true.B
    traffic.out.bits.meta.verdict := Verdict.laneFailed
    // Its clear prefix is not known: the row stays taken.
    traffic.out.bits.meta.meta.bypass := false.B
    traffic.out.bits.meta.meta.transport := false.B
  }

  // Packets of the traffic that were sent here and for which nothing has come out.
  private val begun = RegInit(false.B)
  private val enters = traffic.in.valid && (lane.in.ready || order.failed)
  when(enters) { begun := !traffic.in.bits.last }
  private val owed = RegInit(0.U(log2Ceil(packets + LaneGuard.entering).W))
  owed := owed + (enters && !begun && !order.tested) - (traffic.out.fire && traffic.out.bits.last)

  // Packets granted whose last beat has not come out.
  private val granted = RegInit(0.U(log2Ceil(LanePorts.grants + 2).W))
  granted := granted + lane.grant.reduce(_ || _) - (lane.out.fire && lane.out.bits.last)

  private val waits = granted =/= 0.U || (lane.busy && !lane.offer.reduce(_ || _))
  private val stuck = (lane.in.valid && !lane.in.ready) || (waits && !lane.out.valid)
  private val still = RegInit(0.U((log2Ceil(hangCycles) + 1).W))
  private val hung = still(log2Ceil(hangCycles))
  still := Mux(RegNext(stuck, false.B) && !hung, still + 1.U, 0.U)

  private val beat = lane.out.bits
  private val resting = !traffic.in.valid && !lane.busy && !lane.out.valid && !lane.offer.reduce(_ || _)
  io.view.still := RegNext(resting, false.B)
  io.view.empty := RegNext(resting && owed === 0.U, false.B)
  io.view.hung := hung
  io.view.room := RegNext(lane.room)
  io.view.offer := RegNext(lane.offer)
  io.view.valid := RegNext(lane.out.valid, false.B)
  io.view.word := RegNext(VecInit.tabulate(AnswerLayout.beatWords)(i => beat.data(64 * i + 63, 64 * i))(order.select))
  private val facts = Wire(new AnswerFacts)
  facts.bytes := beat.bytes
  facts.last := beat.last
  facts.error := beat.error
  facts.verdict := beat.meta.verdict.asUInt
  facts.length := beat.meta.meta.length
  facts.nextHeader := beat.meta.meta.nextHeader
  io.view.facts := RegNext(facts)
}

private object LaneGuard {

  /** Packets that may be in the lane's entrance and at its exit. */
  private val entering = 64
}
