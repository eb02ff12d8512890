// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.util._
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.common.stream.{ConnectStream, NoMeta, PacketArbiter, PacketPriority, PacketStream, RegisterSlice}
import sallyport.iface.mac.RxMeta
import sallyport.iface.parse.{ExtensionSkip, HeaderParser}
import sallyport.iface.reassembly.{Reassembler, ReassemblyConfig, ReassemblyEvents}
import sallyport.iface.stream.{LookupStage, PacketSteer}
import sallyport.iface.tracking.{FragmentRing, TrackerConfig, TrackingEvents}

/** What software sets of a [[FragmentPath]], as registers hold it. */
class FragmentLimits extends Bundle {

  /** Ticks after which a datagram is given up; 0 counts as 1. */
  val timeout = UInt(15.W)

  /** Datagrams of one source at once; there is no limit if it is more than there may be at all. */
  val perSource = UInt(16.W)
}

/** What happened on a [[FragmentPath]] in one cycle. */
class FragmentEvents extends Bundle {
  val tracking = new TrackingEvents
  val reassembly = new ReassemblyEvents
}

/**
 * The way of frames that may be fragments. [[FragmentJudge]] says which go on as fragments, which
 * wait in a [[FragmentRing]], and which a [[Reassembler]] puts together; all else passes.
 *
 * Frames at `in` wait in a queue that drops when it is full, and so do fragments whose policy wants
 * the whole datagram, which come `back`. Neither `in` nor `back` ever stalls, so this path holds up
 * no other, nor itself. Those that come back go first, those that have waited last: what no first
 * fragment follows delays no other.
 *
 * A frame every 2 cycles, a beat a cycle. A whole datagram and a frame that passes take turns.
 */
class FragmentPath(p: ReassemblyConfig, tracking: TrackerConfig, ends: Boolean) extends Module {
  val io = IO(new Bundle {

    /** The box is a bump in the wire. */
    val bump = Input(Bool())

    /** This box's own addresses at this port; `valid`: a sender of fragments to them is told. */
    val own = Flipped(Valid(new LocalAddresses))
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))

    /** This box's own addresses at this port, whatever ends here: no fragment comes from them. */
    val sources = Input(new LocalAddresses)
    val skip = Input(new ExtensionSkip)
    val limits = Input(new FragmentLimits)

    /** Time passes: a pulse, every `tickCycles`. */
    val tick = Input(Bool())
    val in = Flipped(PacketStream(new RxMeta))
    val back = Flipped(PacketStream(new RxMeta))
    val out = PacketStream(new WholeMeta)
    val ready = Output(Bool())
    val events = Output(new FragmentEvents)

    /**
     * Fragments are held, or fields of first ones. Without any, all that is inside is at `out`
     * within [[FragmentPath.transitCycles]].
     */
    val busy = Output(Bool())
  })

  private val now = RegInit(0.U(TrackerConfig.tickBits.W))
  when(io.tick) { now := now + 1.U }
  private val timeout = RegNext(Mux(io.limits.timeout === 0.U, 1.U, io.limits.timeout))

  private def queue(): FrameFifo[RxMeta] =
    Module(new FrameFifo(new RxMeta, FrameFifoParams(tracking.queueBeats, WhenFull.Drop)))
  private val fresh = queue()
  fresh.io.in <> io.in
  private val returned = queue()
  returned.io.in <> io.back
  private val ring = Module(new FragmentRing(new NoMeta, FrameFifoParams(tracking.ringBeats, WhenFull.Drop)))

  private val join = Module(new PacketPriority(new FragmentMeta, 3))
  ConnectStream(join.io.in(0), returned.io.out)((to, from) => FragmentPath.enters(to, from.length, now, back = true))
  ConnectStream(join.io.in(1), fresh.io.out)((to, from) => FragmentPath.enters(to, from.length, now, back = false))
  // A look at `ready` of the join is long enough without that of the ring's memory behind it.
  ConnectStream(join.io.in(2), RegisterSlice(ring.io.out)) { (to, from) =>
    FragmentPath.enters(to, from.length, from.born, back = false)
    to.waited := true.B
  }

  private val window = HeaderParser.windowBytes(ethernet = true)
  private val stage = Module(new LookupStage(new FragmentMeta, new FragmentJudgement, window))
  stage.io.in <> join.io.out
  stage.io.hold := false.B
  private val judge = Module(new FragmentJudge(tracking, ends))
  judge.io.bump := io.bump
  judge.io.own := io.own
  judge.io.macFilter := io.macFilter
  judge.io.portMac := io.portMac
  judge.io.sources := io.sources
  judge.io.skip := io.skip
  judge.io.tick := io.tick
  judge.io.now := now
  judge.io.timeout := timeout
  judge.io.in := stage.io.launch
  stage.io.result := judge.io.out

  private val steer = Module(new PacketSteer(new FragmentJudgement, 3))
  steer.io.in <> stage.io.out
  private val verdict = stage.io.out.bits.meta
  steer.io.select := Cat(verdict.joins, verdict.waits, verdict.passes)
  ConnectStream(ring.io.in, steer.io.out(1)) { (to, from) =>
    to.length := from.info.length
    to.born := from.born
    to.mark := from.mark
  }
  ring.io.tick := io.tick
  ring.io.came := judge.io.wrote

  private val reassembler = Module(new Reassembler(p))
  ConnectStream(reassembler.io.in, steer.io.out(2))(_ := _.info)
  reassembler.io.limits.timeout := timeout
  private val most = (p.datagrams + 1).U(16.W)
  reassembler.io.limits.perSource :=
    RegNext((Mux(io.limits.perSource > most, most, io.limits.perSource))(p.datagramBits - 1, 0))
  reassembler.io.tick := io.tick

  private val merge = Module(new PacketArbiter(new WholeMeta, 2))
  ConnectStream(merge.io.in(0), steer.io.out(0)) { (to, from) =>
    to.length := from.info.length
    to.injected := false.B
    to.tunnel := 0.U.asTypeOf(to.tunnel)
    to.notice := from.info.notice
    to.upper := from.upper
  }
  ConnectStream(merge.io.in(1), reassembler.io.out) { (to, from) =>
    to := 0.U.asTypeOf(to)
    to.length := from.length
  }
  io.out <> merge.io.out

  io.ready := reassembler.io.ready && judge.io.ready
  io.busy := reassembler.io.busy || judge.io.busy || ring.io.busy || fresh.io.out.valid || returned.io.out.valid
  io.events.reassembly := reassembler.io.events
  io.events.tracking := judge.io.events
  io.events.tracking.dropOverflow := fresh.io.droppedOverflow +& returned.io.droppedOverflow
  io.events.tracking.dropFull := ring.io.dropFull
  io.events.tracking.held := judge.io.events.held - ring.io.dropFull.zext
}

object FragmentPath {

  /**
   * More cycles than a frame takes from `in` to `out` or into the queue of fragments, or those
   * that have left it to a drop.
   */
  val transitCycles: Int = 1024

  private def enters(meta: FragmentMeta, length: UInt, born: UInt, back: Boolean): Unit = {
    meta.length := length
    meta.born := born
    meta.waited := false.B
    meta.back := back.B
  }
}
