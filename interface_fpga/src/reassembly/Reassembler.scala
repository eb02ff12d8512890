// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.common.stream.{ConnectStream, PacketArbiter, PacketStream, PacketStripper, RegisterSlice}
import sallyport.iface.stream.{LookupStage, PacketSteer}

/**
 * Puts fragments of IPv4 (RFC 791, RFC 815) and IPv6 (RFC 8200 4.5, RFC 5722) datagrams together,
 * on a stream of frames or IP packets between a parser and what judges whole packets.
 *
 * Packets that are not fragments pass unchanged, in order, after 2 cycles, whatever the fragments
 * do. Fragments wait in a queue of their own, which drops when it is full. A whole datagram leaves
 * as one packet with the header of its first fragment: IPv4 with total length and checksum of the
 * whole and neither flags nor offset, IPv6 without its fragment header, both with CE if any
 * fragment had it (RFC 3168 5.3). It comes between two packets, so a packet waits for one datagram
 * at most. It has to be parsed anew: ports and selectors are those of the whole.
 *
 * Drops fragments and datagrams under the names of [[ReassemblyEvents]]; rules at
 * [[ReassemblyControl]]. Frames in = packets out + drops + `merged` + fragments held.
 *
 * Rate: a beat a cycle as long as fragments have 10 beats (of a datagram in one cell; 11 in two) on
 * average; more, shorter ones at a fragment in 10 cycles. Stalls `in` when `out` does. From the
 * last beat of the fragment that completes a datagram to its first beat out: some 40 cycles.
 *
 * Fragments wait until `ready`, which rises when tables and cells are set up after reset. `in` has
 * no packet with `error`.
 */
class Reassembler(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val ready = Output(Bool())
    val limits = Input(new ReassemblyLimits(p))

    /** Time passes: a pulse. */
    val tick = Input(Bool())
    val in = Flipped(PacketStream(new FragmentInfo))
    val out = PacketStream(new ReassembledMeta)
    val events = Output(new ReassemblyEvents)

    /** Fragments wait, or datagrams that are not whole. */
    val busy = Output(Bool())
  })

  private val steer = Module(new PacketSteer(new FragmentInfo, 2))
  steer.io.in <> io.in
  steer.io.select := Cat(io.in.bits.meta.fragment, !io.in.bits.meta.fragment)
  assert(!io.in.valid || !io.in.bits.last || !io.in.bits.error, "a broken packet got past its frame FIFO")

  // Fragments wait until it is known what becomes of them.
  private val queue = Module(new FrameFifo(new FragmentInfo, FrameFifoParams(p.queueBeats, WhenFull.Drop)))
  queue.io.in <> NextHeaderMender(steer.io.out(1))
  private val stage = Module(
    new LookupStage(new FragmentInfo, new FragmentVerdict(p), p.windowBytes, results = Reassembler.underWay)
  )
  stage.io.hold := false.B
  stage.io.in <> queue.io.out
  private val planner = Module(new FragmentPlanner(p))
  planner.io.in := stage.io.launch
  private val plans = Module(new Queue(new FragmentPlan(p), Reassembler.underWay))
  plans.io.enq.valid := planner.io.out.valid
  plans.io.enq.bits := planner.io.out.bits
  assert(!plans.io.enq.valid || plans.io.enq.ready, "more plans than packets in the look-up stage")

  private val control = Module(new ReassemblyControl(p))
  private val limits = RegNext(io.limits)
  control.io.limits := limits
  control.io.tick := RegNext(io.tick, false.B)
  control.io.plan <> RegisterSlice(plans.io.deq)
  stage.io.result := control.io.verdict

  // Those that are accepted go into the cells.
  private val accepted = Module(new PacketSteer(new FragmentVerdict(p), 1))
  accepted.io.in <> stage.io.out
  accepted.io.select := stage.io.out.bits.meta.accept
  private val aligner = Module(new LaneAligner(new FragmentVerdict(p))(_.layout.pad, _.layout.payloadEnd))
  aligner.io.in <> accepted.io.out(0)
  private val writer = Module(new CellWriter(p))
  writer.io.in <> aligner.io.out
  private val buffer = Module(new CellBuffer(p))
  buffer.io.write := writer.io.write

  // Whole datagrams come out of them. The last write is 2 cycles behind its replay, the first
  // read 3.
  private val replays = Module(new Queue(new DatagramReplay(p), Reassembler.replays))
  replays.io.enq <> writer.io.replay
  private val reader = Module(new CellReader(p))
  reader.io.replay <> replays.io.deq
  reader.io.data := buffer.io.data
  buffer.io.read := reader.io.read
  private val cut = Module(
    new PacketStripper(new ReplayMeta(p), 0 until PacketStream.dataBytes by 2)(_.skip, _.length)
  )
  cut.io.in <> reader.io.out
  private val mender = Module(new HeaderMender(p))
  mender.io.in <> cut.io.out

  private val pool = Module(new CellPool(p))
  control.io.cell <> pool.io.taken
  control.io.low := pool.io.low
  pool.io.discarded <> control.io.release
  pool.io.read := reader.io.free
  control.io.enable := pool.io.ready
  io.busy := control.io.busy || queue.io.out.valid
  io.ready := RegNext(control.io.ready && pool.io.ready, false.B)

  private val join = Module(new PacketArbiter(new ReassembledMeta, 2))
  ConnectStream(join.io.in(0), steer.io.out(0)) { (to, from) =>
    to.notice := from.notice
    to.length := from.length
    to.reassembled := false.B
  }
  join.io.in(1) <> mender.io.out
  io.out <> join.io.out

  private val dropped = control.io.dropped
  private def frames(reason: FragmentDrop.Type): UInt =
    RegNext(Mux(dropped.valid && dropped.bits.reason === reason.asUInt, dropped.bits.frames, 0.U), 0.U)
  io.events.reassembled := RegNext(control.io.merged.valid, false.B)
  io.events.merged := RegNext(Mux(control.io.merged.valid, control.io.merged.bits, 0.U), 0.U)
  private val left = Mux(control.io.leaves.valid, control.io.leaves.bits, 0.U)
  io.events.held := RegNext(Mux(control.io.stays, 1.S, -left.zext), 0.S)
  io.events.dropOverflow := queue.io.droppedOverflow
  io.events.dropLength := frames(FragmentDrop.length)
  io.events.dropHeaders := frames(FragmentDrop.headers)
  io.events.dropFull := frames(FragmentDrop.full)
  io.events.dropSource := frames(FragmentDrop.source)
  io.events.dropOversize := frames(FragmentDrop.oversize)
  io.events.dropMemory := frames(FragmentDrop.memory)
  io.events.dropEnd := frames(FragmentDrop.end)
  io.events.dropDuplicate := frames(FragmentDrop.duplicate)
  io.events.dropEcn := frames(FragmentDrop.ecn)
  io.events.dropOverlap := frames(FragmentDrop.overlap)
  io.events.dropTimeout := frames(FragmentDrop.timeout)
}

object Reassembler {

  /** Fragments that are looked up or wait for it. */
  private val underWay: Int = 8

  /** Whole datagrams that wait to be read. */
  private val replays: Int = 4
}
