// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.util._
import sallyport.common.clock.QuietClock
import sallyport.common.registers.map.NetworkRow
import sallyport.common.stream.{ConnectStream, PacketArbiter, PacketStream}
import sallyport.iface.mac.RxMeta
import sallyport.iface.parse.ExtensionSkip
import sallyport.iface.reassembly.ReassemblyConfig
import sallyport.iface.tracking.{TrackerConfig, UpperFields}

/** Metadata of a frame that has gone by, or round, a [[FragmentPath]]. */
class WholeMeta extends RxMeta {

  /** Not from the port, but from the management CPU, or out of a tunnel. */
  val injected = Bool()

  /** With `injected`: out of a tunnel of that network. */
  val tunnel = Valid(UInt(NetworkRow.network.width.W))

  /** A fragment whose sender has to be told ([[FragmentNotice]]). */
  val notice = Bool()

  /** A fragment that goes on as one, and what its datagram's first one says. */
  val upper = Valid(new UpperFields)
}

/**
 * Frames in, frames out: what may be a fragment ([[FragmentSteer]]) goes by a [[FragmentPath]], all
 * else past it. Fragments leave as such, with the upper-layer fields of their datagram, or as whole
 * datagrams.
 *
 * `back` takes the fragments of datagrams that are wanted whole after all.
 *
 * Frames that pass keep their order, and so do those that go round; a frame may overtake one that
 * goes round. No packet waits for more than one of the others. A beat a cycle; latency of what
 * passes: 3 cycles, and one more if the packet before it went round. Stalls `in` when `out` does.
 * The path's clock stops while there is nothing on it.
 *
 * @param injects has `inject`, whose frames have not come from the port and join the others behind
 *                the path: so none of them can be put together with a fragment that somebody has
 *                forged
 */
class FragmentDetour(p: ReassemblyConfig, tracking: TrackerConfig, ends: Boolean, injects: Boolean = false)
    extends Module {
  val io = IO(new Bundle {

    /** As of [[FragmentPath]]. */
    val bump = Input(Bool())
    val own = Flipped(Valid(new LocalAddresses))
    val macFilter = Input(Bool())
    val portMac = Input(UInt(48.W))
    val sources = Input(new LocalAddresses)
    val skip = Input(new ExtensionSkip)
    val limits = Input(new FragmentLimits)
    val in = Flipped(PacketStream(new RxMeta))
    val inject = Option.when(injects)(Flipped(PacketStream(new WholeMeta)))
    val back = Flipped(PacketStream(new RxMeta))
    val out = PacketStream(new WholeMeta)
    val ready = Output(Bool())
    val events = Output(new FragmentEvents)
  })

  private val steer = Module(new FragmentSteer)
  steer.io.in <> io.in

  private val stirs = Wire(Bool())
  private val path =
    withClock(QuietClock(stirs, FragmentPath.transitCycles))(Module(new FragmentPath(p, tracking, ends)))
  stirs := steer.io.aside.valid || io.back.valid || path.io.out.valid || path.io.busy || !path.io.ready
  path.io.bump := io.bump
  path.io.own := io.own
  path.io.macFilter := io.macFilter
  path.io.portMac := io.portMac
  path.io.sources := io.sources
  path.io.skip := io.skip
  path.io.limits := io.limits
  private val (_, tick) = Counter(true.B, p.tickCycles)
  path.io.tick := RegNext(tick, false.B)
  path.io.in <> steer.io.aside
  path.io.back <> io.back
  io.ready := path.io.ready
  io.events := path.io.events

  private val join = Module(new PacketArbiter(new WholeMeta, if (injects) 3 else 2))
  join.io.in(1) <> path.io.out
  ConnectStream(join.io.in.head, steer.io.straight) { (to, from) =>
    to := 0.U.asTypeOf(to)
    to.length := from.length
  }
  io.inject.foreach(join.io.in.last <> _)
  io.out <> join.io.out
}
