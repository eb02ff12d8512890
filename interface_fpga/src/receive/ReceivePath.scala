// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.queue.RingDelay
import sallyport.common.registers.map.NetworkRow
import sallyport.common.stream.{ConnectStream, MacBeat, NoMeta, PacketStream}
import sallyport.iface.cpu.{PuntEvents, PuntQueue}
import sallyport.iface.mac.{MacReceive, MacReceiveEvents}
import sallyport.iface.parse.{HeaderFields, HeaderParser, IpWindow, OuterTag, PacketKey}
import sallyport.iface.reassembly.ReassemblyConfig
import sallyport.iface.stream.{LookupStage, PacketSteer}
import sallyport.iface.tracking.TrackerConfig

/**
 * Where one frame goes: the link, the management CPU, back to be put together, or, with none of
 * them, nowhere.
 */
class FrameVerdict extends Bundle {
  val toLink = Bool()
  val toPunt = Bool()

  /** It is a fragment, and its policy wants the whole datagram. */
  val toWhole = Bool()

  /** With `toPunt`: a value of [[sallyport.common.registers.map.PuntReason]]. */
  val reason = UInt(8.W)

  /** With `toPunt`: it came from the management CPU, or out of a tunnel. */
  val injected = Bool()
  val hairpin = Bool()

  /** With `toPunt`: the packet's. */
  val network = UInt(NetworkRow.network.width.W)

  /** With `toLink`: the metadata of the packet. */
  val link = new LinkMeta
}

/** What happened in one cycle at both ends of a [[ReceivePath]]. */
class ReceivePathEvents extends Bundle {
  val receive = new MacReceiveEvents
  val fragments = new FragmentEvents
  val punt = new PuntEvents
}

/**
 * The part of the way from a port to the link that is the same on both interface chips: MAC,
 * fragments given the upper-layer fields of their datagram, headers read, the frame held until it
 * is judged, and sent where the verdict says.
 *
 * What [[MacReceive]] lets pass is parsed: at once, or, if it may be a fragment, once
 * [[FragmentDetour]] knows its datagram, while other frames may overtake it; `fields` starts the
 * chip's own look-ups, which cannot stall and answer each with one `verdict`, in order, after any
 * latency ([[LookupStage]]); `early` and `returning` start those of selectors
 * ([[HeaderParser]]). Frames that have not come from the port, from `inject`, join the others
 * behind the detour, in turn; `injected` tells them apart. Frames for the link leave at `out` with
 * their Ethernet header, punted ones at `punt`, those `toWhole` back on the detour, which makes
 * whole datagrams of them, the others nowhere: the look-up that drops one counts it. A dead
 * management CPU costs punted frames alone ([[PuntQueue]]); a stalled `out` fills the receive
 * queues, whose overflows are events. High frames pass the others there, and nowhere else.
 *
 * A frame every 2 cycles, a beat a cycle. From the last beat of a frame to its first at `out`: 24
 * cycles and the latency of the look-ups.
 *
 * @param port         of the header of punted frames: 0 inner, 1 outer
 * @param puntGroups   trap groups of this port, values of PuntGroup
 * @param receiveBeats receive queue in 64-byte beats
 * @param priorityBeats the same of high frames
 * @param puntBeats    queue to the management CPU in 64-byte beats
 * @param reassembly   room for fragments that are put together
 * @param tracking     room for the fields of first fragments
 * @param ends         datagrams that end at this port are put together ([[FragmentJudge]])
 * @param errors       show `early`, `returning`, `aligned`, `vlan` and `tunnel`
 * @param injects      has `inject`
 * @param waiting      frames that may wait for their verdicts: more than half of its cycles
 * @param beats        beats of them: more than its cycles
 */
class ReceivePath[V <: FrameVerdict](
    verdictType: V,
    port: Int,
    puntGroups: Seq[Int],
    receiveBeats: Int,
    priorityBeats: Int,
    puntBeats: Int,
    reassembly: ReassemblyConfig,
    tracking: TrackerConfig,
    ends: Boolean,
    errors: Boolean = false,
    injects: Boolean = false,
    waiting: Int = 32,
    beats: Int = 64
) extends Module {
  val io = IO(new Bundle {
    val control = Input(new ReceiveControl(puntGroups.length))

    /**
     * This box's own addresses at this port, at which fragments end; `valid`: their sender is told
     * of bad ones.
     */
    val own = Flipped(Valid(new LocalAddresses))
    val mac = Flipped(Valid(new MacBeat))
    val inject = Option.when(injects)(Flipped(PacketStream(new WholeMeta)))
    val fields = Valid(new HeaderFields)

    /** With `fields`: as of [[WholeMeta]]; `hairpin`: out of a tunnel. */
    val injected = Output(Bool())
    val hairpin = Output(Bool())
    val early = Option.when(errors)(Valid(new HeaderFields))
    val returning = Option.when(errors)(Valid(UInt(PacketKey.bits.W)))
    val aligned = Option.when(errors)(Valid(new IpWindow(HeaderParser.words(ethernet = true))))

    /**
     * Outer VLAN ID of a frame, 0 without a tag, [[HeaderParser.alignLatency]] cycles before
     * `aligned`.
     */
    val vlan = Option.when(errors)(Valid(UInt(OuterTag.idBits.W)))

    /** In place of `vlan`: the network of a frame out of a tunnel. */
    val tunnel = Option.when(errors)(Valid(UInt(NetworkRow.network.width.W)))
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

  private val whole = Module(new FragmentDetour(reassembly, tracking, ends, injects))
  whole.io.bump := io.control.bump
  whole.io.own := io.own
  whole.io.macFilter := io.control.macFilter
  whole.io.portMac := io.control.portMac
  whole.io.sources := io.control.own
  whole.io.skip := io.control.skip
  whole.io.limits := io.control.fragmentLimits
  whole.io.in <> receive.io.out
  whole.io.inject.zip(io.inject).foreach { case (to, from) => to <> from }

  private val stage = Module(
    new LookupStage(
      new WholeMeta,
      verdictType,
      HeaderParser.windowBytes(ethernet = true),
      results = waiting,
      beats = beats
    )
  )
  stage.io.in <> whole.io.out
  stage.io.hold := false.B

  private val parser = Module(new HeaderParser(ethernet = true, errors = errors))
  parser.io.skip := io.control.skip
  parser.io.in.valid := stage.io.launch.valid
  parser.io.in.bits.bytes := stage.io.launch.bits.bytes
  parser.io.in.bits.length := stage.io.launch.bits.meta.length
  for (vlan <- io.vlan) {
    vlan.valid := stage.io.launch.valid && !stage.io.launch.bits.meta.tunnel.valid
    vlan.bits := OuterTag.id(stage.io.launch.bits.bytes)
  }
  for (tunnel <- io.tunnel) {
    tunnel.valid := stage.io.launch.valid && stage.io.launch.bits.meta.tunnel.valid
    tunnel.bits := stage.io.launch.bits.meta.tunnel.bits
  }
  // A fragment has the upper-layer fields of its datagram.
  private val earlier = HeaderParser.earlier(ethernet = true)
  private val meta = RingDelay(stage.io.launch.bits.meta, HeaderParser.latency(ethernet = true) - earlier)
  private def known(fields: HeaderFields, of: WholeMeta): HeaderFields =
    Mux(of.upper.valid && fields.fragment, of.upper.bits.over(fields), fields)
  private val metaAtEnd = ShiftRegister(meta, earlier)
  io.fields.valid := parser.io.out.valid
  io.fields.bits := known(parser.io.out.bits, metaAtEnd)
  io.fields.bits.notice := metaAtEnd.notice
  for ((to, from) <- io.early.zip(parser.io.early)) {
    to.valid := from.valid
    to.bits := known(from.bits, meta)
  }
  io.returning.zip(parser.io.returning).foreach { case (to, from) => to := from }
  io.aligned.zip(parser.io.aligned).foreach { case (to, from) => to := from }
  io.injected := metaAtEnd.injected
  io.hairpin := metaAtEnd.tunnel.valid
  stage.io.result := io.verdict

  private val steer = Module(new PacketSteer(verdictType, 3))
  steer.io.in <> stage.io.out
  private val verdict = stage.io.out.bits.meta
  steer.io.select := Cat(verdict.toWhole, verdict.toPunt, verdict.toLink)
  io.out <> steer.io.out(0)

  // The verdict does not say how long the frame is, and the queue that it goes to keeps what its
  // last beat says.
  private val back = steer.io.out(2)
  private val before = RegInit(0.U((PacketStream.lengthBits - log2Ceil(PacketStream.dataBytes)).W))
  when(back.fire)(before := Mux(back.bits.last, 0.U, before + 1.U))
  ConnectStream(whole.io.back, back)((to, _) =>
    to.length := Cat(before, 0.U(log2Ceil(PacketStream.dataBytes).W)) + back.bits.bytes
  )

  private val punt = Module(new PuntQueue(port, puntGroups, puntBeats))
  punt.io.limits := io.control.puntLimits
  ConnectStream(punt.io.in, steer.io.out(1)) { (to, from) =>
    to.reason := from.reason
    to.sa := 0.U
    to.injected := from.injected
    to.hairpin := from.hairpin
    to.network := from.network
  }
  io.punt <> punt.io.out
  io.cycles := punt.io.cycles

  io.ready := whole.io.ready
  io.events.receive := receive.io.events
  io.events.fragments := whole.io.events
  io.events.punt := punt.io.events
}
