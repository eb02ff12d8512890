// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.experimental.dataview.RecordUpcastable
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.queue.RingDelay
import sallyport.common.registers.map.FlowRow
import sallyport.common.stream.{ConnectStream, MacBeat, NoMeta, PacketArbiter, PacketStream, PacketStripper}
import sallyport.common.table.{CuckooTable, CuckooTableParams, TablePort, TernaryTable, TernaryTableParams}
import sallyport.iface.cpu.{Injector, InjectorEvents, TokenLimit}
import sallyport.iface.dispatch.Dispatch
import sallyport.iface.fragmentation.{FragmentCut, Fragmenter}
import sallyport.iface.headers.{EthernetHeader, IpHeader}
import sallyport.iface.mss.{MssClamp, MssFinder}
import sallyport.iface.parse.{HeaderParser, PacketKey, SpdKey}
import sallyport.iface.prefixes.{PolicyPlace, PrefixKey}
import sallyport.iface.receive.{FrameVerdict, ReceiveControl, ReceivePath, ReceivePathEvents, WholeMeta}
import sallyport.iface.stream.PacketGate
import sallyport.iface.tfc.{DummySource, TfcPadder}
import sallyport.iface.usage.{EncryptUsage, UsageEvent}

/** What happened on the encrypt path in one cycle. */
class InnerEncryptEvents extends Bundle {
  val path = new ReceivePathEvents
  val drops = new InnerDrops
  val inject = new InjectorEvents
  val hairpin = new HairpinEvents

  /** A look-up of a flow, of an entry by prefixes or of a rule met a row with a flipped bit. */
  val flowRowUpset = Bool()
  val policyRowUpset = Bool()
  val ruleRowUpset = Bool()

  /** A row of the SAs by DSCP has a flipped bit and its packet is dropped; one of the dummies. */
  val dscpSaRowUpset = Bool()
  val dummyRowUpset = Bool()

  /** A look-up met a row of networks with a flipped bit. */
  val networkRowUpset = Bool()

  /** The outbound SA of a packet has expired. */
  val dropLifetime = Bool()
  val lifetime = Valid(new UsageEvent)

  /** A packet is cut; a fragment but the first of its packet has been made. */
  val cut = Bool()
  val further = Bool()

  /** The last beat of a packet has gone to the link. */
  val txProtect = Bool()
  val txBypass = Bool()
  val txDummy = Bool()

  /** A dummy packet has been made. */
  val dummy = Bool()
}

/**
 * From the red port to the link: MAC, fragments put together, headers read, SPD looked up, verdict,
 * counted, Ethernet and tags off, TTL.
 *
 * [[Networks]] says which network a frame is of: flows, rules and entries by prefixes are those of
 * its network. What [[ReceivePath]] lets pass is judged by [[InnerClassifier]], whose SA
 * [[SaByDscp]] may choose: protected and bypassed IP packets go to `out`, without padding behind
 * their total length, as whole frames or without Ethernet header and VLAN tags, and then cut if
 * they are too long for their SPD entry, and padded if they are too short for it ([[TfcPadder]]);
 * punted frames as they came, behind a header, to `punt`; the rest nowhere. Frames of the
 * management CPU, from `inject`, are judged like those from the port, at a limited rate
 * ([[Injector]]): so what the box itself sends is protected by its policies. Decrypted packets for
 * another tunnel come by [[Hairpin]], and leave protected or not at all. A bump in the wire sends
 * nothing there. [[DummySource]] puts packets of its own between them. [[EncryptUsage]] counts
 * those for the link beside their way, whole, and stops what its SA may not send any more.
 * Each drop has an event. A dead CPU costs punted frames alone ([[PuntQueue]]); a stalled link
 * fills the receive queues, whose overflows are events.
 *
 * A packet every 2 cycles, a beat a cycle. Latency: that of [[ReceivePath]], of the slowest
 * look-up, and what the modules named here add. `policy` asks the tree of policies
 * ([[sallyport.iface.prefixes.PrefixTurns]]).
 *
 * @param flowTable makes the table of flows
 * @param ruleTable makes that of rules
 * @param networkTable makes that of networks
 */
class InnerEncrypt(
    config: InnerConfig,
    flowTable: CuckooTableParams => CuckooTable = new CuckooTable(_),
    ruleTable: TernaryTableParams => TernaryTable = new TernaryTable(_),
    networkTable: () => Networks = () => new Networks
) extends Module {
  val io = IO(new Bundle {
    val receive = Input(new ReceiveControl(InnerConfig.puntGroups.length))
    val linkUp = Input(Bool())

    /** Dummy packets may be made. */
    val dummies = Input(Bool())
    val mac = Flipped(Valid(new MacBeat))

    /** Frames of the management CPU, as if from the port. */
    val inject = Flipped(PacketStream(new NoMeta))
    val injectLimit = Input(new TokenLimit)

    /** Frames out of tunnels, for others. */
    val hairpin = Flipped(PacketStream(new HairpinMeta))
    val out = PacketStream(new LinkMeta)
    val punt = PacketStream(new NoMeta)
    val flowTable = Flipped(new TablePort)
    val policy = Valid(new PrefixKey)
    val place = Input(new PolicyPlace)
    val prefixPolicyTable = Flipped(new TablePort)
    val ruleTable = Flipped(new TablePort)
    val networkTable = Flipped(new TablePort)
    val dscpSaTable = Flipped(new TablePort)
    val outboundUsageTable = Flipped(new TablePort)
    val policyUsageTable = Flipped(new TablePort)
    val dummyTable = Flipped(new TablePort)
    val ready = Output(Bool())

    /** The chip's cycles since reset. */
    val cycles = Output(UInt(64.W))
    val events = Output(new InnerEncryptEvents)
  })

  private val waiting = 48
  private val path = Module(
    new ReceivePath(
      new InnerVerdict,
      InnerConfig.puntPort,
      InnerConfig.puntGroups,
      config.chip.receiveBeats,
      config.chip.priorityBeats,
      config.chip.puntBeats,
      config.chip.reassembly,
      config.chip.tracking,
      ends = false,
      errors = true,
      injects = true,
      waiting = waiting,
      beats = 128
    )
  )
  private val injector = Module(new Injector(new WholeMeta, config.chip.injectBeats)(InnerEncrypt.measured))
  injector.io.enable := io.receive.enable && !io.receive.bump
  injector.io.limit := io.injectLimit
  injector.io.in <> io.inject
  private val hairpin = Module(new Hairpin(beats = 512))
  hairpin.io.enable := io.receive.enable && !io.receive.bump
  hairpin.io.in <> io.hairpin
  private val others = Module(new PacketArbiter(new WholeMeta, 2))
  others.io.in(0) <> injector.io.out
  others.io.in(1) <> hairpin.io.out
  path.io.inject.get <> others.io.out
  path.io.control := io.receive
  // Red fragments are in transit: a gateway sends no message about them.
  path.io.own.valid := false.B
  path.io.own.bits := DontCare
  path.io.mac := io.mac
  io.punt <> path.io.punt
  io.cycles := path.io.cycles
  private val fields = path.io.fields.bits

  // The look-ups side by side; the faster ones wait. Packets start at most every second cycle, so
  // the cycle before a packet's own look-ups is free for the packet in an ICMP error.
  private val early = path.io.early.get
  private val returning = path.io.returning.get
  private val asks = early.valid || returning.valid
  private val packetKey = Mux(early.valid, PacketKey(early.bits), returning.bits)

  // The network of the frame, and of the packet in an ICMP error a cycle before. A bump in the wire
  // has one. A packet out of a tunnel keeps the network that it has there.
  private val networks = Module(networkTable())
  networks.io.table <> io.networkTable
  networks.io.vlan := path.io.vlan.get
  private val network = WireDefault(networks.io.network)
  when(io.receive.bump)(network := 0.U.asTypeOf(network))
  private val tunnel = ShiftRegister(path.io.tunnel.get, Networks.latency)
  when(tunnel.valid) {
    network.number := tunnel.bits
    network.blocked := false.B
    network.upset := false.B
  }
  require(
    Networks.latency == HeaderParser.alignLatency(ethernet = true),
    "the network is known with the destination"
  )
  private val returnTime = HeaderParser.latency(ethernet = true) - HeaderParser.earlier(ethernet = true) - 1
  private val networkOfReturn = RingDelay(network, returnTime - Networks.latency)
  private val networkOfFrame = RegNext(networkOfReturn)
  private val key = SpdKey(Mux(early.valid, networkOfFrame.number, networkOfReturn.number), packetKey)
  private val flows = CuckooTable(1 << config.flowBits, FlowRow, SpdKey.fields, FlowRow.valid, table = flowTable)
  flows.io.table <> io.flowTable
  flows.io.clear := false.B
  flows.io.lookup.valid := asks
  flows.io.lookup.bits := key

  private val rules = TernaryTable(config.chip.rules, ruleTable)
  rules.io.table <> io.ruleTable
  rules.io.clear := false.B
  rules.io.lookup.valid := asks
  rules.io.lookup.bits := key

  // The tree of policies starts as soon as the IP header is in place.
  private val aligned = path.io.aligned.get
  io.policy.valid := RegNext(aligned.valid && aligned.bits.isIp && !aligned.bits.toGroup, false.B)
  io.policy.bits := RegNext(PrefixKey(network.number, aligned.bits.isV6, aligned.bits.destination))
  private val prefixes = Module(new PrefixPolicies(1 << config.policyBits))
  prefixes.io.table <> io.prefixPolicyTable
  prefixes.io.packet := RegNext(aligned.valid, false.B)
  prefixes.io.place := io.place

  private val keyTime = HeaderParser.latency(ethernet = true) - HeaderParser.earlier(ethernet = true) -
    HeaderParser.alignLatency(ethernet = true)
  private val prefixTime = 1 + PrefixPolicies.sourceTime - keyTime
  prefixes.io.source := RingDelay(InnerEncrypt.sourceOf(key), prefixTime)
  private val lookups = Seq(CuckooTable.latency, rules.latency, prefixTime + PrefixPolicies.matchLatency).max
  require(
    HeaderParser.earlier(ethernet = true) == SpdDecision.latency,
    "the SPD decides when all fields are known and all look-ups have answered"
  )
  private val decision = Module(new SpdDecision)
  private val prefixWait = lookups - prefixTime - PrefixPolicies.matchLatency
  decision.io.in.flow := RingDelay(SpdAnswer(flows.io.result.bits), lookups - CuckooTable.latency)
  decision.io.in.prefix := ShiftRegister(prefixes.io.answer, prefixWait)
  decision.io.in.rule := RingDelay(SpdAnswer(rules.io.result.bits), lookups - rules.latency)
  decision.io.in.upset := ShiftRegister(flows.upset, lookups - CuckooTable.latency) ||
    ShiftRegister(prefixes.io.upset, prefixWait) || ShiftRegister(rules.upset, lookups - rules.latency) ||
    RingDelay(Mux(early.valid, networkOfFrame.upset, networkOfReturn.upset), lookups)
  decision.io.error := ShiftRegister(returning.valid, 1 + lookups, false.B, true.B)
  private val classifier = Module(new InnerClassifier)
  classifier.io.bump := io.receive.bump
  classifier.io.macFilter := io.receive.macFilter
  classifier.io.portMac := io.receive.portMac
  classifier.io.own := io.receive.own
  classifier.io.linkUp := io.linkUp
  classifier.io.findings.valid := ShiftRegister(path.io.fields.valid, lookups, false.B, true.B)
  private val fieldsOfNetwork = WireDefault(fields)
  private val networkAtEnd = ShiftRegister(networkOfFrame, HeaderParser.earlier(ethernet = true))
  // The box has no address in a network that is in doubt.
  fieldsOfNetwork.network := networkAtEnd.number | Fill(networkAtEnd.number.getWidth, networkAtEnd.upset)
  classifier.io.findings.bits.fields := RingDelay(fieldsOfNetwork, lookups)
  classifier.io.findings.bits.policy := decision.io.out
  when(RingDelay(networkAtEnd.blocked, lookups))(classifier.io.findings.bits.policy.hit := false.B)
  classifier.io.findings.bits.upset := decision.io.upset
  classifier.io.findings.bits.injected := ShiftRegister(path.io.injected, lookups)
  classifier.io.findings.bits.hairpin := ShiftRegister(path.io.hairpin, lookups)
  private val dispatch = Module(new Dispatch)
  dispatch.io.control := io.receive.dispatch
  dispatch.io.fields := fields
  classifier.io.findings.bits.dispatched := ShiftRegister(dispatch.io.out, lookups - Dispatch.latency)
  private val chosen = Module(new SaByDscp)
  chosen.io.in := classifier.io.verdict
  chosen.io.table <> io.dscpSaTable

  // The maximum segment size of TCP is found and lowered meanwhile.
  private val finder = Module(new MssFinder(aligned.bits.words.length))
  finder.io.in := aligned
  private val clampTime = HeaderParser.latency(ethernet = true) - HeaderParser.alignLatency(ethernet = true) +
    lookups + InnerClassifier.latency + SaByDscp.latency - MssClamp.latency
  private val clamp = Module(new MssClamp)
  clamp.io.option := RingDelay(finder.io.out, clampTime - MssFinder.latency)
  clamp.io.mtu := ShiftRegister(classifier.io.segmentMtu, SaByDscp.latency - MssClamp.latency)
  path.io.verdict := chosen.io.out
  path.io.verdict.bits.mss := clamp.io.patch

  private val usage = Module(new EncryptUsage(config.saBits, config.flowBits))
  usage.io.verdict.valid := chosen.io.out.valid
  usage.io.verdict.bits := chosen.io.out.bits.viewAsSupertype(new FrameVerdict)
  usage.io.soon := ShiftRegister(
    classifier.io.findings.valid,
    InnerClassifier.latency + SaByDscp.latency - 2,
    false.B,
    true.B
  )
  usage.io.policy.valid := ShiftRegister(classifier.io.policy.valid, SaByDscp.latency, false.B, true.B)
  usage.io.policy.bits := ShiftRegister(classifier.io.policy.bits, SaByDscp.latency)
  usage.io.ipBytes := ShiftRegister(classifier.io.ipBytes, SaByDscp.latency)
  usage.io.outboundTable <> io.outboundUsageTable
  usage.io.policyTable <> io.policyUsageTable

  private val strip = Module(
    new PacketStripper(new InnerVerdict, 0 +: EthernetHeader.lengths)(_.strip, _.link.length)
  )
  strip.io.in <> path.io.out
  private val rewritten = Wire(chiselTypeOf(strip.io.out))
  RewriteHeader(rewritten, strip.io.out)(_.rewrite)
  require(waiting < EncryptUsage.ahead, "answers wait for as many packets as may be between the verdict and the gate")
  private val gate = Module(new PacketGate(new InnerVerdict, EncryptUsage.ahead))
  MssClamp.rewrite(gate.io.in, rewritten)(_.mss)
  gate.io.passes := usage.io.passes
  private val fragmenter = Module(new Fragmenter(new InnerVerdict, ipAt = 0)(InnerEncrypt.cut)(InnerEncrypt.resized))
  fragmenter.io.in <> gate.io.out
  private val dummies = Module(new DummySource(new InnerVerdict)(_.tfc))
  dummies.io.enable := io.dummies
  dummies.io.in <> fragmenter.io.out
  dummies.io.table <> io.dummyTable
  usage.io.dummy := dummies.io.asks
  dummies.io.asked := usage.io.dummyAsked
  dummies.io.passes := usage.io.dummyPasses
  private val padder = Module(new TfcPadder(new InnerVerdict)(_.link.length, _.tfc)(InnerEncrypt.resized))
  padder.io.in <> dummies.io.out
  ConnectStream(io.out, padder.io.out)(_ := _.link)

  private val sent = io.out.fire && io.out.bits.last
  io.ready := networks.io.ready && flows.io.ready && prefixes.io.ready && rules.io.ready && chosen.io.ready && path.io.ready && usage.io.ready && dummies.io.ready
  io.events.path := path.io.events
  io.events.drops := classifier.io.drops
  io.events.inject := injector.io.events
  io.events.hairpin := hairpin.io.events
  io.events.flowRowUpset := flows.rowUpset
  io.events.policyRowUpset := prefixes.io.rowUpset
  io.events.ruleRowUpset := rules.rowUpset
  io.events.dscpSaRowUpset := chosen.io.upset
  io.events.dummyRowUpset := dummies.io.rowUpset
  io.events.networkRowUpset := networks.io.rowUpset
  io.events.dropLifetime := usage.io.dropLifetime
  io.events.lifetime := usage.io.event
  io.events.cut := fragmenter.io.cuts
  io.events.further := fragmenter.io.further
  private val isDummy = !io.out.bits.meta.transport && io.out.bits.meta.nextHeader === IpHeader.noNextHeader.U
  io.events.txProtect := RegNext(sent && !io.out.bits.meta.bypass && !isDummy, false.B)
  io.events.txDummy := RegNext(sent && isDummy, false.B)
  io.events.dummy := dummies.io.made
  io.events.txBypass := RegNext(sent && io.out.bits.meta.bypass, false.B)
  assert(!sent || !io.out.bits.error, "a packet for the link is shorter than its total length")
}

object InnerEncrypt {

  /** Bit 1 of a version tells 6 and 7 from 4 and 5. */
  private def sourceOf(key: UInt): PrefixKey =
    PrefixKey(FlowRow.network(key), FlowRow.version(key)(1), FlowRow.srcAddr(key))

  private def measured(bytes: UInt): WholeMeta = {
    val meta = WireDefault(0.U.asTypeOf(new WholeMeta))
    meta.length := bytes
    meta.injected := true.B
    meta
  }

  private def cut(verdict: InnerVerdict): FragmentCut = {
    val cut = WireDefault(FragmentCut.none)
    cut.units := verdict.units
    cut
  }

  private def resized(verdict: InnerVerdict, bytes: UInt): InnerVerdict = {
    val of = WireDefault(verdict)
    of.link.length := bytes
    of
  }
}
