// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.queue.RingDelay
import sallyport.common.registers.AuditEvent
import sallyport.common.registers.map.{FlowRow, PrefixRow, SelectorRow}
import sallyport.common.stream.{ConnectStream, HeaderPrepend, MacBeat, NoMeta, PacketStream, PacketStripper}
import sallyport.common.table.{CuckooTable, CuckooTableParams, DirectTable, TablePort, TernaryTable, TernaryTableParams}
import sallyport.iface.cpu.{Injector, InjectorEvents, PuntEvents, TokenLimit}
import sallyport.iface.forwarding.{HostAddress, NextHopLookup, NextHopQuery}
import sallyport.iface.fragmentation.{FragmentCut, Fragmenter}
import sallyport.iface.headers.{EthernetHeader, TransportHeader, TransportPatch}
import sallyport.iface.mac.{MacTransmit, MacTransmitEvents}
import sallyport.iface.mss.{MssClamp, MssFinder, MssPatch}
import sallyport.iface.parse.{ExtensionSkip, HeaderParser, PacketKey}
import sallyport.iface.prefixes.PrefixKey
import sallyport.iface.receive.BoxAddresses
import sallyport.iface.stream.{LookupLaunch, LookupStage, PacketSteer}
import sallyport.iface.tracking.{FragmentTable, WaitingMeta}
import sallyport.iface.usage.{UsageEvent, UsageTable}

/** What happened on the decrypt path in one cycle, besides the link's own events. */
class InnerDecryptEvents extends Bundle {
  val drops = new InspectorDrops

  /** No room to wait for a first fragment; how many more fragments wait than before. */
  val dropWaiting = UInt(3.W)
  val held = SInt(4.W)

  /** Headers that no tunnel makes, of a packet that goes on. */
  val ecnUnexpected = Bool()
  val upsets = new ReplayUpsets

  /** A look-up met an inbound rule with a flipped bit. */
  val ruleRowUpset = Bool()

  /** The selector row or the next hop of a packet has a flipped bit, and counts as not valid. */
  val selectorRowUpset = Bool()
  val nextHopRowUpset = Bool()
  val lifetime = Valid(new UsageEvent)
  val peer = Valid(new PeerEvent)
  val audit = Valid(new AuditEvent(DecryptAudit.keyBits))

  /** A packet is for a host whose Ethernet address is not known. */
  val unresolved = Valid(new HostAddress)

  /** A look-up met a row of hosts with a flipped bit. */
  val hostRowUpset = Bool()

  /** The same of a row of prefixes or of their groups. */
  val groupRowUpset = Bool()

  /** A packet is cut; a fragment but the first of its packet has been made. */
  val cut = Bool()
  val further = Bool()
  val punt = new PuntEvents
  val inject = new InjectorEvents
  val transmit = new MacTransmitEvents
}

/** What becomes of a packet from the link, and of the headers that it came with. */
class TreatedVerdict extends Bundle {
  val verdict = new InspectorVerdict

  /** With `verdict.waits`. */
  val waiting = new WaitingMeta(new HeldPacket)
  val patch = new TransportPatch
  val mss = new MssPatch
}

/**
 * From the link to the red port: selectors, anti-replay window, headers read, verdict, TTL and ECN,
 * Ethernet on, MAC.
 *
 * `in` carries decrypted IP packets, whose `meta.sa` names the inbound SA, and bypassed ones, whose
 * `meta.sa` names the next hop; or whole frames with either (`meta.transport`), which keep their
 * Ethernet header. [[InnerInspector]] judges them, bypassed ones by the inbound rules, whatever the
 * outer chip found. Bytes behind the IP total length are cut off. A packet to a host at the port
 * goes there, whatever next hop is named ([[NextHopLookup]]); `events.unresolved` tells of each
 * packet to a host whose Ethernet address is not known. These leave at `punt`, unless their policer
 * or a full queue drops them ([[DecryptPunt]]). So do packets to the box itself, without TTL,
 * without a next hop, and those longer than `portMtu` that are not cut. Others longer than
 * `portMtu` leave in fragments ([[Fragmenter]]). Packets whose next hop is another tunnel leave at
 * `hairpin`, whole. Fragments out of tunnels may wait for their datagram's first one
 * ([[DecryptWait]]).
 *
 * A row that is written to the selector table clears the window rows that it names, unless it says
 * that they stay; packets before the write meet the old row and window, packets after it the new
 * ones, and traffic waits about 20 cycles. It waits as long for each access to a window row.
 *
 * `events.peer` tells of each packet with `meta.moved` that its window lets in, whatever
 * else becomes of it: an SA that does not check its numbers tells of copies as well.
 *
 * `events.audit` tells of each packet that is dropped as `replayed`, `tooOld`, `windowUpset`,
 * `selectorMismatch` or `noSelector`, once, with its fields as selectors see them. Only with
 * `selectorMismatch` are they the packet's: one that is dropped before may be no IP packet at all.
 *
 * A packet every 2 cycles and a beat a cycle, except that an Ethernet header that pushes a packet's
 * end into a further beat costs one cycle, and that a fragment takes 8 cycles at least. Stalls when
 * the MAC does. Takes no packet until `ready`.
 * `inject` carries frames for the port that have come no such way ([[Injector]]).
 *
 * @param windows of so many bits of a window row's number
 * @param ruleTable makes the table of inbound rules
 * @param hostTable makes the table of hosts
 */
class InnerDecrypt(
    config: InnerConfig,
    windows: Int => AntiReplay,
    ruleTable: TernaryTableParams => TernaryTable = new TernaryTable(_),
    hostTable: CuckooTableParams => CuckooTable = new CuckooTable(_)
) extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val portMac = Input(UInt(48.W))

    /** The longest IP packet that leaves by the port. */
    val portMtu = Input(UInt(14.W))

    /** At the red port. */
    val box = Input(new BoxAddresses)
    val skip = Input(new ExtensionSkip)

    /** Ticks, as of [[DecryptFragments]]. */
    val fragmentTimeout = Input(UInt(15.W))
    val in = Flipped(PacketStream(new LinkMeta))

    /** Frames of the management CPU's own for the port. */
    val inject = Flipped(PacketStream(new NoMeta))
    val injectLimit = Input(new TokenLimit)
    val mac = Decoupled(new MacBeat)

    /** Frames for other tunnels; always ready. */
    val hairpin = PacketStream(new HairpinMeta)

    /** Packets for the management CPU. */
    val punt = PacketStream(new NoMeta)
    val puntLimits = Input(Vec(InnerConfig.decryptGroups.length, new TokenLimit))
    val selectorTable = Flipped(new TablePort)
    val ruleTable = Flipped(new TablePort)
    val nextHopTable = Flipped(new TablePort)
    val hostTable = Flipped(new TablePort)

    /** Asks the tree of routes ([[sallyport.iface.prefixes.PrefixTurns]]). */
    val route = Valid(new PrefixKey)
    val group = Input(UInt(PrefixRow.group0.width.W))
    val groupUpset = Input(Bool())
    val groupTable = Flipped(new TablePort)
    val replayTable = Flipped(new TablePort)
    val usageTable = Flipped(new TablePort)
    val ready = Output(Bool())
    val events = Output(new InnerDecryptEvents)
  })

  private val waits = Module(new DecryptWait(config.chip.tracking))
  waits.io.in <> io.in
  private val stage =
    Module(new LookupStage(new InboundMeta, new TreatedVerdict, DecryptWindow.windowBytes))
  stage.io.in <> waits.io.out
  private val launch = Wire(Valid(new LookupLaunch(new LinkMeta, DecryptWindow.windowBytes)))
  private val inbound = stage.io.launch.bits.meta
  launch.valid := stage.io.launch.valid
  launch.bits.bytes := stage.io.launch.bits.bytes
  launch.bits.meta := inbound.link

  // The IP packet, wherever it starts, as it was before ESP.
  private val parser = Module(new HeaderParser(ethernet = false, fragments = true, errors = true))
  parser.io.skip := io.skip
  parser.io.in.valid := RegNext(launch.valid, false.B)
  parser.io.in.bits := RegNext(DecryptWindow(launch.bits))
  private val frameClass = FrameClass(launch.bits)
  private val transport = Module(new TransportHeader)
  transport.io.bytes := launch.bits.bytes(transport.io.bytes.getWidth - 1, 0)
  transport.io.meta := launch.bits.meta
  transport.io.protocol := launch.bits.meta.nextHeader

  // Selector row; then the window and the next hop that it names.
  private val selectors = DirectTable.banked(1 << config.saBits, SelectorRow, SelectorRow.valid)
  private val gate = Module(new QuiescentWrite)
  gate.io.in <> io.selectorTable
  selectors.io.table <> gate.io.out
  gate.io.idle := stage.io.idle
  private val writes = RegInit(0.U(DecryptWait.writesBits.W))
  private def written(port: TablePort): Bool = RegNext(port.request.fire && port.request.bits.write, false.B)
  when(written(gate.io.out) || written(io.ruleTable)) { writes := writes + 1.U }
  private val waited0 = RegNext(inbound.waited)
  private val stale0 = RegNext(inbound.waited && inbound.writes =/= writes)
  selectors.io.clear := false.B
  selectors.io.lookup.valid := launch.valid
  selectors.io.lookup.bits := launch.bits.meta.sa(config.saBits - 1, 0)

  private val selectorLatency = DirectTable.bankedLatency
  private val meta1 = ShiftRegister(launch.bits.meta, selectorLatency)
  private val row1 = selectors.io.result.bits.row
  private val hit1 = selectors.io.result.bits.hit && (meta1.sa >> config.saBits) === 0.U
  private val network1 = Mux(meta1.bypass, 0.U, SelectorRow.network(row1))
  // The number of a packet that has waited is in the window already.
  private val waited1 = ShiftRegister(waited0, selectorLatency - 1)
  private val checks1 =
    selectors.io.result.valid && hit1 && !meta1.bypass && !waited1 && SelectorRow.replay(row1).asBool

  private val replay = Module(windows(config.saBits))
  private def windowRows(row: UInt): Vec[UInt] = VecInit(
    Seq(SelectorRow.windowRow0, SelectorRow.windowRow1, SelectorRow.windowRow2, SelectorRow.windowRow3)
      .map(field => field(row)(config.saBits - 1, 0))
  )
  replay.io.query.valid := checks1
  replay.io.query.bits.rows := windowRows(row1)
  replay.io.query.bits.sequence := meta1.sequence
  replay.io.query.bits.window := SelectorRow.windowSize(row1)

  // The window rows of a selector row are clear before the next packet that the row lets in: the
  // gate holds packets until the table has answered, and a packet's query comes later still.
  private val software = gate.io.out.request.bits.row
  private val starts = Wire(Valid(new ReplayClear(config.saBits)))
  starts.valid := SelectorRow.valid(software).asBool && SelectorRow.replay(software).asBool &&
    !SelectorRow.windowKeep(software).asBool
  starts.bits.rows := windowRows(software)
  starts.bits.window := SelectorRow.windowSize(software)
  private val started = RegEnable(starts, gate.io.out.request.fire)
  replay.io.clear.valid := RegNext(selectors.written.valid && started.valid, false.B)
  replay.io.clear.bits := started.bits
  private val windowGate = Module(new QuiescentWrite(reads = true))
  windowGate.io.in <> io.replayTable
  replay.io.table <> windowGate.io.out
  windowGate.io.idle := stage.io.idle

  // The destination stands at one place of the IP header, and is looked up before the rest is read:
  // as soon as the selector row names its network.
  private val nextHop =
    Module(new NextHopLookup(1 << config.hostBits, config.chip.nextHops, hostTable))
  nextHop.io.box := io.box
  nextHop.io.hostTable <> io.hostTable
  nextHop.io.nextHopTable <> io.nextHopTable
  io.route := nextHop.io.route
  nextHop.io.group := io.group
  nextHop.io.groupUpset := io.groupUpset
  nextHop.io.groupTable <> io.groupTable
  private val queryTime = selectorLatency - 1
  nextHop.io.packet.valid := ShiftRegister(launch.valid, queryTime, false.B, true.B)
  nextHop.io.packet.bits := RingDelay(NextHopQuery(parser.io.in.bits.bytes), queryTime - 1)
  nextHop.io.network := network1
  nextHop.io.named := RingDelay(
    Mux(meta1.bypass, meta1.sa, SelectorRow.nextHop(row1)),
    queryTime + NextHopLookup.namedTime - selectorLatency
  )
  private val nextHopTime = queryTime + NextHopLookup.latency

  // Fragments learn of their datagram's first one.
  private def sinceSelectors[T <: Data](value: T, time: Int): T = RingDelay(value, time - selectorLatency)
  private val parsedTime = InnerDecrypt.parserLatency
  private val metaParsed = sinceSelectors(meta1, parsedTime)
  private val fragments = Module(new DecryptFragments(config.chip.tracking, config.chip.reassembly.tickCycles))
  fragments.io.timeout := io.fragmentTimeout
  fragments.io.soon := (0 to FragmentTable.ahead).map { cycles =>
    ShiftRegister(launch.valid, parsedTime + 1 - cycles, false.B, true.B)
  }.reduce(_ || _)
  fragments.io.in.valid := parser.io.out.valid
  fragments.io.in.bits := DecryptWindow.seen(parser.io.out.bits, metaParsed)
  fragments.io.fragment := parser.io.fragment.get
  fragments.io.meta := metaParsed
  fragments.io.waited.valid := ShiftRegister(waited0, parsedTime - 1)
  fragments.io.waited.bits := RingDelay(inbound.born, parsedTime)
  waits.io.tick := fragments.io.tick
  waits.io.came := fragments.io.wrote

  // Then the packet's fields meet the selector row.
  private val readTime = parsedTime + DecryptFragments.latency
  private val allowed = Module(new InboundSelectors(config.chip.rules, ruleTable))
  allowed.io.table <> io.ruleTable
  allowed.io.packet.valid := ShiftRegister(
    selectors.io.result.valid && (hit1 || meta1.bypass),
    readTime - selectorLatency,
    false.B,
    true.B
  )
  allowed.io.packet.bits.key := PacketKey(fragments.io.out)
  private val returned = readTime - InnerDecrypt.earlyTime
  allowed.io.returning.bits := RingDelay(parser.io.returning.get.bits, returned)
  allowed.io.returning.valid := ShiftRegister(parser.io.returning.get.valid, returned, false.B, true.B) &&
    ShiftRegister(hit1, readTime - 1 - selectorLatency)

  // The row stays for the two cycles in which an ICMP error and the packet in it meet it.
  private val beforeRow = readTime - 2 - selectorLatency
  private val loadsRow = ShiftRegister(selectors.io.result.valid, beforeRow, false.B, true.B)
  allowed.io.packet.bits.clear := RegEnable(ShiftRegister(meta1.bypass, beforeRow), loadsRow)
  allowed.io.packet.bits.row := RegEnable(RingDelay(row1, beforeRow), loadsRow)

  // All answers, as late as the last of them; cycles from `launch`.
  private val findingsTime =
    Seq(readTime + allowed.latency, selectorLatency + AntiReplay.latency, nextHopTime).max
  private val rest = findingsTime - selectorLatency

  // When the SA's usage is read.
  private val usageTime = findingsTime + InnerInspector.chargeLatency - UsageTable.latency
  private val inspector = Module(new InnerInspector)
  private val findings = inspector.io.findings
  inspector.io.enable := io.enable
  inspector.io.box := io.box
  inspector.io.mtu := io.portMtu
  findings.valid := ShiftRegister(selectors.io.result.valid, rest, false.B, true.B)
  findings.bits.fields := RingDelay(fragments.io.out, findingsTime - readTime)
  findings.bits.fields.network := sinceSelectors(network1, findingsTime)
  findings.bits.conflict := ShiftRegister(fragments.io.conflict, findingsTime - readTime)
  findings.bits.overlap := ShiftRegister(fragments.io.overlap, findingsTime - readTime)
  findings.bits.waits := ShiftRegister(fragments.io.waits, findingsTime - readTime) &&
    ShiftRegister(allowed.io.within, findingsTime - readTime - allowed.latency)
  findings.bits.waited := ShiftRegister(waited0, findingsTime - 1)
  findings.bits.stale := ShiftRegister(stale0, findingsTime - 1)
  private val part = parser.io.fragment.get
  findings.bits.beyond := ShiftRegister(
    RegNext(Cat(part.offset, 0.U(3.W)) +& part.payloadBytes > InnerDecrypt.longestDatagram.U),
    findingsTime - parsedTime - 1
  )
  private val metaOfUsage = sinceSelectors(meta1, usageTime)
  private val meta = ShiftRegister(metaOfUsage, findingsTime - usageTime)
  findings.bits.bypass := meta.bypass
  findings.bits.sa := meta.sa
  findings.bits.frame := meta.transport
  findings.bits.frameBytes := meta.length
  findings.bits.frameClass := RingDelay(frameClass, findingsTime - FrameClass.latency)
  findings.bits.nextHeader := meta.nextHeader
  findings.bits.outerTos := meta.tos
  findings.bits.selectorHit := ShiftRegister(hit1, rest)
  findings.bits.rulesUpset := ShiftRegister(allowed.io.upset, findingsTime - readTime - allowed.latency)
  findings.bits.selected := ShiftRegister(allowed.io.allowed, findingsTime - readTime - allowed.latency)
  private def afterReplay(value: Bool): Bool = ShiftRegister(value, rest - AntiReplay.latency)
  findings.bits.replay.tooOld := afterReplay(replay.io.verdict.valid && replay.io.verdict.bits.tooOld)
  findings.bits.replay.replayed := afterReplay(replay.io.verdict.valid && replay.io.verdict.bits.replayed)
  findings.bits.replay.upset := afterReplay(replay.io.verdict.valid && replay.io.verdict.bits.upset)
  private val authentic = findings.bits.selectorHit && !findings.bits.replay.asUInt.orR
  private val peer = Wire(Valid(new PeerEvent))
  peer.valid := findings.valid && meta.moved && !meta.bypass && authentic
  peer.bits := PeerEvent.of(meta)
  private val keyTime = findingsTime + InnerInspector.latency - readTime
  private val metaOfVerdict = ShiftRegister(meta, InnerInspector.latency)
  private val audit = DecryptAudit.of(
    inspector.io.drops,
    metaOfVerdict,
    RingDelay(allowed.io.packet.bits.key, keyTime)
  )
  findings.bits.nextHop := ShiftRegister(nextHop.io.found, findingsTime - nextHopTime)
  private val unresolved = Wire(Valid(new HostAddress))
  unresolved.valid := inspector.io.unresolved
  unresolved.bits.network := ShiftRegister(findings.bits.fields.network, InnerInspector.latency)
  unresolved.bits.v6 := FlowRow.version(audit.bits.packet)(1)
  unresolved.bits.address := FlowRow.dstAddr(audit.bits.packet)
  stage.io.result.valid := inspector.io.verdict.valid
  stage.io.result.bits.verdict := inspector.io.verdict.bits
  private val waiting = stage.io.result.bits.waiting
  waiting.length := metaOfVerdict.length
  waiting.born := RingDelay(fragments.io.born, keyTime)
  waiting.mark := RingDelay(fragments.io.mark, keyTime)
  waiting.rest.link := metaOfVerdict
  waiting.rest.writes := writes
  stage.io.result.bits.patch :=
    RingDelay(transport.io.patch, findingsTime + InnerInspector.latency - TransportHeader.latency)

  // Of TCP in a tunnel the maximum segment size is found and lowered meanwhile.
  private val clampTime = findingsTime + InnerInspector.latency - MssClamp.latency
  private val finder = Module(new MssFinder(parser.io.aligned.get.bits.words.length))
  finder.io.in := parser.io.aligned.get
  private val clamp = Module(new MssClamp)
  clamp.io.option := RingDelay(finder.io.out, clampTime - 1 - MssFinder.latency)
  clamp.io.mtu := ShiftRegister(
    Mux(hit1 && !meta1.bypass && !meta1.transport, SelectorRow.mtu(row1), 0.U),
    clampTime - selectorLatency
  )
  stage.io.result.bits.mss := clamp.io.patch

  // What its SA has carried is read while the rest becomes known, so that it costs no time.
  private val usage = Module(new UsageTable(config.saBits, limited = true))
  usage.io.table <> io.usageTable
  usage.io.read.valid := ShiftRegister(launch.valid, usageTime, false.B, true.B) &&
    !metaOfUsage.bypass && (metaOfUsage.sa >> config.saBits) === 0.U
  usage.io.read.bits := metaOfUsage.sa(config.saBits - 1, 0)
  usage.io.charge := inspector.io.charge
  inspector.io.expired := usage.io.expired

  // What goes on: padding off, new header values, Ethernet on.
  private val steer = Module(new PacketSteer(new TreatedVerdict, 2))
  TransportHeader.rewrite(steer.io.in, stage.io.out)(_.patch)
  private val decided = stage.io.out.bits.meta.verdict
  steer.io.select := Cat(decided.waits, decided.forward || decided.toPunt)
  ConnectStream(waits.io.back, steer.io.out(1))(_ := _.waiting)
  private val strip = Module(new PacketStripper(new InspectorVerdict, Seq(0))(_ => 0.U, _.length))
  private val forwarded = Wire(chiselTypeOf(strip.io.in))
  private val clamped = Wire(chiselTypeOf(steer.io.out(0)))
  MssClamp.rewrite(clamped, steer.io.out(0))(_.mss)
  ConnectStream(forwarded, clamped)(_ := _.verdict)
  RewriteHeader(strip.io.in, forwarded)(_.rewrite)
  private val prepend = Module(new HeaderPrepend(InnerDecrypt.headerLengths, new DecryptedMeta))
  ConnectStream(prepend.io.in, strip.io.out) { (header, verdict) =>
    val to = Mux(verdict.toPunt || verdict.hairpin, io.portMac, verdict.nextHopMac)
    header.bytes := EthernetHeader(to, io.portMac, EthernetHeader.ofIp(verdict.rewrite.v6)).wire
    header.select := verdict.frame
    header.length := Mux(verdict.frame, 0.U, EthernetHeader.bytes.U)
    header.drop := false.B
    header.meta.wire.tags := verdict.tags
    header.meta.wire.units := verdict.units
    header.meta.toPunt := verdict.toPunt
    header.meta.punt := verdict.punt
    header.meta.hairpin := verdict.hairpin
    header.meta.tunnel := verdict.tunnel
  }
  private val punt = Module(new DecryptPunt(InnerConfig.decryptGroups, config.chip.puntBeats))
  punt.io.limits := io.puntLimits
  punt.io.in <> prepend.io.out
  io.punt <> punt.io.punt
  io.hairpin <> punt.io.hairpin
  private val transmit = Module(new MacTransmit(config.chip.transmitBeats))
  private val fragmenter = Module(new Fragmenter(new WireMeta, EthernetHeader.bytes)(InnerDecrypt.cut)())
  fragmenter.io.in <> punt.io.out
  ConnectStream(transmit.io.in, fragmenter.io.out)(_ := _.tags)
  private val injector = Module(Injector.plain(config.chip.injectBeats))
  injector.io.enable := io.enable
  injector.io.limit := io.injectLimit
  injector.io.in <> io.inject
  transmit.io.inject <> injector.io.out
  io.mac <> transmit.io.mac

  private val ready = RegNext(
    selectors.io.ready && fragments.io.ready && allowed.io.ready && nextHop.io.ready && replay.io.ready && usage.io.ready,
    false.B
  )
  stage.io.hold := RegNext(gate.io.hold || windowGate.io.hold || !ready, true.B)
  io.ready := ready
  io.events.drops := inspector.io.drops
  io.events.dropWaiting := waits.io.dropFull +& inspector.io.drops.stale
  io.events.held := inspector.io.held - waits.io.dropFull.zext
  io.events.ecnUnexpected := inspector.io.ecnUnexpected
  io.events.upsets := replay.io.upsets
  io.events.ruleRowUpset := allowed.io.ruleRowUpset
  io.events.selectorRowUpset := RegNext(selectors.upset, false.B)
  io.events.nextHopRowUpset := nextHop.io.nextHopRowUpset
  io.events.lifetime := usage.io.event
  io.events.peer := RegNext(peer, 0.U.asTypeOf(peer))
  io.events.unresolved.valid := RegNext(unresolved.valid, false.B)
  io.events.unresolved.bits := RegNext(unresolved.bits)
  io.events.hostRowUpset := nextHop.io.hostRowUpset
  io.events.groupRowUpset := nextHop.io.groupRowUpset
  io.events.audit.valid := RegNext(audit.valid, false.B)
  io.events.audit.bits := RegNext(audit.bits)
  io.events.cut := fragmenter.io.cuts
  io.events.further := fragmenter.io.further
  io.events.punt := punt.io.events
  io.events.inject := injector.io.events
  io.events.transmit := transmit.io.events
}

object InnerDecrypt {

  /** From `launch`: [[DecryptWindow]]'s register, and the parser. */
  private val parserLatency: Int = 1 + HeaderParser.latency(ethernet = false)

  /** RFC 791 3.1. */
  private val longestDatagram: Int = 65535

  /** A cycle behind the return traffic of the packet in an ICMP error. */
  private val earlyTime: Int = parserLatency - HeaderParser.earlier(ethernet = false)

  private def cut(wire: WireMeta): FragmentCut = {
    val cut = WireDefault(FragmentCut.none)
    cut.units := wire.units
    cut
  }

  /** Ethernet on a packet, or nothing on a frame. */
  private val headerLengths: Seq[Int] = Seq(EthernetHeader.bytes, 0)
}
