// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.stream.{PacketBeat, PacketStream, RegisterSlice}
import sallyport.crypto.lane.{LaneResult, Verdict}

/** A packet that came out of a lane or the bypass. */
class MergeEvent extends Bundle {
  val verdict = Verdict()

  /** Past the lanes; its verdict is `ok`. */
  val bypass = Bool()
  val epoch = Bool()
  val meta = new LinkMeta
}

/**
 * Takes packets from the lanes and the bypass in the order in which they were dispatched.
 *
 * Only a packet of a lane whose verdict is `ok`, or one of the bypass, goes on; `meta.bypass` is
 * set here by where the bytes came from, whatever the packet says. Any other verdict ends here. One
 * `event` a packet, in order, a register: a cycle after its first beat, as the beat on `out`. While
 * `hold` (a register of the event's user) is high no packet begins.
 *
 * A beat a cycle, a packet every 2 cycles. Latency 1 cycle. Stalls while the packet that is next in
 * order is not there.
 */
class Merge(lanes: Int) extends Module {
  val io = IO(new Bundle {
    val order = Flipped(Decoupled(new OrderEntry(lanes)))
    val lane = Vec(lanes, Flipped(PacketStream(new LaneResult)))
    val bypass = Flipped(PacketStream(new LinkMeta))
    val out = PacketStream(new LinkMeta)
    val event = Valid(new MergeEvent)

    /** In the cycle before a packet's event, its row: that of the packet that is next in order. */
    val row = Output(UInt(PrefixRow.bits.W))
    val hold = Input(Bool())
  })

  private val slice = Module(new RegisterSlice(new PacketBeat(new LinkMeta)))
  private val first = RegInit(true.B)
  // A packet's first beat left in the last cycle: the next packet waits one.
  private val justBegun = RegInit(false.B)

  private val target = io.order.bits.target
  private val may = io.order.valid && slice.io.in.ready && (!first || (!io.hold && !justBegun))
  for ((lane, index) <- io.lane.zipWithIndex) lane.ready := may && target(index)
  io.bypass.ready := may && target(lanes)

  private val valids = io.bypass.valid ## VecInit(io.lane.map(_.valid)).asUInt
  private val fire = may && (valids & target).orR
  private val bodies = io.lane.map(_.bits).map(b => (b.data, b.bytes, b.last)) :+
    ((io.bypass.bits.data, io.bypass.bits.bytes, io.bypass.bits.last))
  private val isBypass = target(lanes)
  private val laneVerdict = Mux1H(target(lanes - 1, 0), io.lane.map(_.bits.meta.verdict.asUInt))
  private val verdict = Mux(isBypass, Verdict.ok, Verdict.safe(laneVerdict)._1)
  private val good = verdict === Verdict.ok
  private val last = Mux1H(target, bodies.map(_._3))

  slice.io.in.valid := fire && good
  slice.io.in.bits.data := Mux1H(target, bodies.map(_._1))
  slice.io.in.bits.bytes := Mux1H(target, bodies.map(_._2))
  slice.io.in.bits.last := last
  slice.io.in.bits.error := false.B
  slice.io.in.bits.meta := Mux1H(target, io.lane.map(_.bits.meta.meta) :+ io.bypass.bits.meta)
  slice.io.in.bits.meta.bypass := isBypass
  io.out <> slice.io.out
  io.row := PrefixRow(slice.io.in.bits.meta)

  io.order.ready := fire && last
  when(fire) { first := last }
  justBegun := fire && first

  private val event = Wire(new MergeEvent)
  event.verdict := verdict
  event.bypass := isBypass
  event.epoch := io.order.bits.epoch
  event.meta := slice.io.in.bits.meta
  io.event.valid := RegNext(fire && first, false.B)
  io.event.bits := RegNext(event)

  assert(!io.order.valid || PopCount(target) === 1.U, "an order entry names one way")
  assert(!(fire && !good) || (first && last), "a packet with a bad verdict is one beat, and nothing of it leaves")
  assert(
    !(fire && !isBypass && Mux1H(target(lanes - 1, 0), io.lane.map(_.bits.meta.meta.bypass))),
    "a lane never has a bypass packet"
  )
  assert(!(fire && isBypass && !io.bypass.bits.meta.bypass), "only a bypass packet goes past the lanes")
}
