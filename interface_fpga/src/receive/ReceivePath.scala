// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.stream.{ConnectStream, MacBeat, NoMeta, PacketStream}
import sallyport.iface.cpu.{PuntEvents, PuntQueue}
import sallyport.iface.mac.{MacReceive, MacReceiveEvents, RxMeta}
import sallyport.iface.parse.{HeaderFields, HeaderParser, IpWindow, PacketKey}
import sallyport.iface.reassembly.{ReassemblyConfig, ReassemblyEvents}
import sallyport.iface.stream.{LookupStage, PacketSteer}

/** Where one frame goes: the link, the management CPU, or, with neither, nowhere. */
class FrameVerdict extends Bundle {
  val toLink = Bool()
  val toPunt = Bool()

  /** With `toPunt`: a value of [[sallyport.common.registers.map.PuntReason]]. */
  val reason = UInt(8.W)

  /** With `toPunt`: it came from the management CPU. */
  val injected = Bool()

  /** With `toLink`: the metadata of the packet. */
  val link = new LinkMeta
}

/** What happened in one cycle at both ends of a [[ReceivePath]]. */
class ReceivePathEvents extends Bundle {
  val receive = new MacReceiveEvents
  val reassembly = new ReassemblyEvents
  val punt = new PuntEvents
}

/**
 * The part of the way from a port to the link that is the same on both interface chips: MAC,
 * fragments put together, headers read, the frame held until it is judged, and sent where the
 * verdict says.
 *
 * What [[MacReceive]] lets pass is parsed: at once, or, if it may be a fragment, once
 * [[FragmentDetour]] has a whole packet, which other frames may overtake; `fields` starts the
 * chip's own look-ups, which cannot stall and answer each with one `verdict`, in order, after any
 * latency ([[LookupStage]]); `early` and `returning` start those of selectors
 * ([[HeaderParser]]). Frames of the management CPU, from `inject`, join the others behind
 * reassembly, in turn; `injected` tells them apart. Frames for the link leave at `out` with their
 * Ethernet header, punted ones at `punt`, the others nowhere: the look-up that drops one counts it.
 * A dead management CPU costs punted frames alone ([[PuntQueue]]); a stalled `out` fills the
 * receive queues, whose overflows are events. High frames pass the others there, and nowhere else.
 *
 * A frame every 2 cycles, a beat a cycle. From the last beat of a frame to its first at `out`: 24
 * cycles and the latency of the look-ups.
 *
 * @param port         of the header of punted frames: 0 inner, 1 outer
 * @param puntGroups   trap groups of this port, values of PuntGroup
 * @param receiveBeats receive queue in 64-byte beats
 * @param priorityBeats the same of high frames
 * @param puntBeats    queue to the management CPU in 64-byte beats
 * @param reassembly   room for fragments
 * @param errors       show `early`, `returning` and `aligned`
 * @param injects      has `inject`
 */
class ReceivePath[V <: FrameVerdict](
    verdictType: V,
    port: Int,
    puntGroups: Seq[Int],
    receiveBeats: Int,
    priorityBeats: Int,
    puntBeats: Int,
    reassembly: ReassemblyConfig,
    errors: Boolean = false,
    injects: Boolean = false
) extends Module {
  val io = IO(new Bundle {
    val control = Input(new ReceiveControl(puntGroups.length))

    /** This box's own addresses at this port, if fragments to them end here. */
    val own = Flipped(Valid(new LocalAddresses))
    val mac = Flipped(Valid(new MacBeat))
    val inject = Option.when(injects)(Flipped(PacketStream(new RxMeta)))
    val fields = Valid(new HeaderFields)

    /** With `fields`. */
    val injected = Output(Bool())
    val early = Option.when(errors)(Valid(new HeaderFields))
    val returning = Option.when(errors)(Valid(UInt(PacketKey.bits.W)))
    val aligned = Option.when(errors)(Valid(new IpWindow(HeaderParser.words(ethernet = true))))
    val verdict = Flipped(Valid(verdictType))
    val out = PacketStream(verdictType)
    val punt = PacketStream(new NoMeta)

    /** Memories for fragments are set up; until then fragments wait. */
    val ready = Output(Bool())

    /** The chip's cycles since reset. */
    val cycles = Output(UInt(64.W))
    val events = Output(new ReceivePathEvents)
  })

  private val receive = Module(new MacReceive(receiveBeats, priorityBeats))
  receive.io.priorityDscps := io.control.priorityDscps
  receive.io.mac := io.mac
  receive.io.enable := io.control.enable

  private val whole = Module(new FragmentDetour(reassembly, injects))
  whole.io.bump := io.control.bump
  whole.io.own := io.own
  whole.io.macFilter := io.control.macFilter
  whole.io.portMac := io.control.portMac
  whole.io.sources := io.control.own
  whole.io.limits := io.control.fragmentLimits
  whole.io.in <> receive.io.out
  whole.io.inject.zip(io.inject).foreach { case (to, from) => to <> from }

  private val stage = Module(new LookupStage(new WholeMeta, verdictType, HeaderParser.windowBytes(ethernet = true)))
  stage.io.in <> whole.io.out
  stage.io.hold := false.B

  private val parser = Module(new HeaderParser(ethernet = true, errors = errors))
  parser.io.skip := io.control.skip
  parser.io.in.valid := stage.io.launch.valid
  parser.io.in.bits.bytes := stage.io.launch.bits.bytes
  parser.io.in.bits.length := stage.io.launch.bits.meta.length
  io.fields := parser.io.out
  io.early.zip(parser.io.early).foreach { case (to, from) => to := from }
  io.returning.zip(parser.io.returning).foreach { case (to, from) => to := from }
  io.aligned.zip(parser.io.aligned).foreach { case (to, from) => to := from }
  private def withFields(fact: Bool): Bool = ShiftRegister(fact, HeaderParser.latency(ethernet = true))
  io.fields.bits.notice := withFields(stage.io.launch.bits.meta.notice)
  io.injected := withFields(stage.io.launch.bits.meta.injected)
  stage.io.result := io.verdict

  private val steer = Module(new PacketSteer(verdictType, 2))
  steer.io.in <> stage.io.out
  steer.io.select := Cat(stage.io.out.bits.meta.toPunt, stage.io.out.bits.meta.toLink)
  io.out <> steer.io.out(0)

  private val punt = Module(new PuntQueue(port, puntGroups, puntBeats))
  punt.io.limits := io.control.puntLimits
  ConnectStream(punt.io.in, steer.io.out(1)) { (to, from) =>
    to.reason := from.reason
    to.sa := 0.U
    to.injected := from.injected
  }
  io.punt <> punt.io.out
  io.cycles := punt.io.cycles

  io.ready := whole.io.ready
  io.events.receive := receive.io.events
  io.events.reassembly := whole.io.events
  io.events.punt := punt.io.events
}
