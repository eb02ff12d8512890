// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.link.{LinkMeta, PeerTag}
import sallyport.common.registers.map.{OuterRegs, PeerRow, RuleRow, SadRow}
import sallyport.common.stream.{ConnectStream, MacBeat, NoMeta, PacketStream, PacketStripper}
import sallyport.common.table.{CuckooTable, CuckooTableParams, TablePort, TernaryTable, TernaryTableParams}
import sallyport.iface.dispatch.Dispatch
import sallyport.iface.headers.{EthernetHeader, Ipv4Header, Ipv6Header, UdpHeader}
import sallyport.iface.parse.{ExtensionStep, PacketKey, SpdKey}
import sallyport.iface.receive.{LocalAddresses, LocalMatch, ReceiveControl, ReceivePath, ReceivePathEvents}

/** What happened on the decrypt path in one cycle. */
class OuterDecryptEvents extends Bundle {
  val path = new ReceivePathEvents
  val drops = new OuterDrops

  /** A look-up of an SA, of a peer, or of a rule, met a row with a flipped bit. */
  val sadRowUpset = Bool()
  val peerRowUpset = Bool()
  val ruleRowUpset = Bool()

  /** The last beat of a packet has gone to the link. */
  val txEsp = Bool()
  val txBypass = Bool()
}

/**
 * From the black port to the link: MAC, fragments put together, headers read, SAD and rules looked
 * up, verdict, headers off.
 *
 * [[OuterClassifier]] judges what a [[ReceivePath]] holds: ESP packets (from SPI to ICV, in
 * transport mode with the headers in front) and bypassed IP packets or frames go to `out`, punted
 * frames as they came, behind a header, to `punt`, the rest nowhere; each drop has an event. Stalls
 * as [[ReceivePath]] does.
 *
 * ESP in UDP that comes from elsewhere than its SA's row expects takes one of the [[PeerPlaces]],
 * if there is one.
 *
 * A packet every 2 cycles, a beat a cycle. From the last beat of a frame to the first of its packet
 * at `out`: 40 cycles.
 *
 * @param sadTable makes the SAD
 * @param peerTable makes the table of peers
 * @param ruleTable makes the table of rules
 */
class OuterDecrypt(
    config: OuterConfig,
    sadTable: CuckooTableParams => CuckooTable = new CuckooTable(_),
    ruleTable: TernaryTableParams => TernaryTable = new TernaryTable(_),
    peerTable: CuckooTableParams => CuckooTable = new CuckooTable(_)
) extends Module {
  val io = IO(new Bundle {
    val receive = Input(new ReceiveControl(OuterConfig.puntGroups.length))
    val local = Input(new LocalAddresses)
    val linkUp = Input(Bool())
    val mac = Flipped(Valid(new MacBeat))
    val out = PacketStream(new LinkMeta)
    val punt = PacketStream(new NoMeta)
    val sadTable = Flipped(new TablePort)
    val ruleTable = Flipped(new TablePort)
    val peerTable = Flipped(new TablePort)
    val peerClear = Input(Bool())
    val peerPlace = Input(UInt(log2Ceil(PeerTag.places).W))
    val peerShown = Output(new PeerCandidate)

    /** Value of PEER_PLACES. */
    val peerPlaces = Output(UInt(32.W))
    val ready = Output(Bool())

    /** The chip's cycles since reset. */
    val cycles = Output(UInt(64.W))
    val events = Output(new OuterDecryptEvents)
  })

  private val path = Module(
    new ReceivePath(
      new OuterVerdict,
      OuterConfig.puntPort,
      OuterConfig.puntGroups,
      config.chip.receiveBeats,
      config.chip.priorityBeats,
      config.chip.puntBeats,
      config.chip.reassembly,
      config.chip.tracking,
      ends = true
    )
  )
  path.io.control := io.receive
  path.io.own.valid := !io.receive.bump
  path.io.own.bits := io.local
  path.io.mac := io.mac
  io.punt <> path.io.punt
  io.cycles := path.io.cycles
  private val fields = path.io.fields.bits

  // The look-ups side by side; the faster ones wait.
  private val sadKey = Seq(SadRow.spi, SadRow.dstAddr, SadRow.version)
  private val sad = CuckooTable(1 << config.sadBits, SadRow, sadKey, SadRow.valid, short = 1, sadTable, banked = true)
  // A router gave out its SPIs itself (RFC 4301 4.4.2); the hosts behind a bump in the wire may
  // give out the same ones.
  sad.short := RegNext(!io.receive.bump)
  sad.io.table <> io.sadTable
  sad.io.clear := false.B
  sad.io.lookup.valid := path.io.fields.valid
  // Only the SPI of ESP, in UDP or not, is taken for one by the classifier: there is no protocol to
  // tell apart.
  sad.io.lookup.bits := Cat(Mux(fields.isV6, 6.U(8.W), 4.U(8.W)), fields.destination, fields.spi)

  private val rules = TernaryTable(config.chip.rules, ruleTable)
  rules.io.table <> io.ruleTable
  rules.io.clear := false.B
  rules.io.lookup.valid := path.io.fields.valid
  rules.io.lookup.bits := SpdKey(0.U(RuleRow.network.width.W), PacketKey(fields))
  // Where the frame comes from, which IKE is policed by.
  private val stations =
    CuckooTable(1 << config.peerBits, PeerRow, Seq(PeerRow.addr, PeerRow.version), PeerRow.valid, table = peerTable)
  stations.io.table <> io.peerTable
  stations.io.clear := false.B
  stations.io.lookup.valid := path.io.fields.valid
  stations.io.lookup.bits := Cat(Mux(fields.isV6, 6.U(4.W), 4.U(4.W)), fields.source)
  private val lookups = sad.latency max rules.latency
  private val rule = ShiftRegister(rules.io.result.bits, lookups - rules.latency)
  private val sa = ShiftRegister(sad.io.result.bits, lookups - sad.latency)
  private val saWhole = ShiftRegister(sad.whole, lookups - sad.latency)

  private val local = Module(new LocalMatch)
  local.io.local := io.local
  local.io.fields := fields

  private val classifier = Module(new OuterClassifier)
  classifier.io.bump := io.receive.bump
  classifier.io.macFilter := io.receive.macFilter
  classifier.io.portMac := io.receive.portMac
  classifier.io.own := io.receive.own
  classifier.io.linkUp := io.linkUp
  classifier.io.findings.valid := ShiftRegister(path.io.fields.valid, lookups, false.B, true.B)
  classifier.io.findings.bits.fields := ShiftRegister(fields, lookups)
  classifier.io.findings.bits.toUs := ShiftRegister(local.io.toUs, lookups - LocalMatch.latency)
  classifier.io.findings.bits.saHit := sa.hit
  classifier.io.findings.bits.saHere := saWhole
  classifier.io.findings.bits.saUpset := ShiftRegister(sad.upset, lookups - sad.latency)
  classifier.io.findings.bits.sa := SadRow.sa(sa.row)
  classifier.io.findings.bits.saEncap := SadRow.encap(sa.row)
  classifier.io.findings.bits.saPeer.address := SadRow.peerAddr(sa.row)
  classifier.io.findings.bits.saPeer.port := SadRow.peerPort(sa.row)
  classifier.io.findings.bits.saTransport := SadRow.transport(sa.row)
  classifier.io.findings.bits.fromPeer :=
    ShiftRegister(stations.io.result.bits.hit && !stations.upset, lookups - CuckooTable.latency)
  classifier.io.findings.bits.ruleUpset := ShiftRegister(rules.upset, lookups - rules.latency)
  private val dispatch = Module(new Dispatch)
  dispatch.io.control := io.receive.dispatch
  dispatch.io.fields := fields
  classifier.io.findings.bits.dispatched := ShiftRegister(dispatch.io.out, lookups - Dispatch.latency)
  classifier.io.findings.bits.ruleHit := rule.hit
  classifier.io.findings.bits.ruleAction := RuleRow.action(rule.row)
  classifier.io.findings.bits.ruleSa := RuleRow.sa(rule.row)

  // A packet that is not from its SA's peer names its place, or goes on as any other.
  private val verdict = classifier.io.verdict
  private val peers = Module(new PeerPlaces)
  private def beforeVerdict(value: UInt): UInt = ShiftRegister(value, OuterClassifier.latency - 1)
  private val findings = classifier.io.findings.bits
  peers.io.candidate.sa := beforeVerdict(findings.sa)
  peers.io.candidate.peer.address := beforeVerdict(findings.fields.source(31, 0))
  peers.io.candidate.peer.port := beforeVerdict(findings.fields.sourcePort)
  peers.io.moved := verdict.valid && verdict.bits.toLink && verdict.bits.link.moved
  peers.io.clear := io.peerClear
  peers.io.place := io.peerPlace
  io.peerShown := peers.io.shown
  io.peerPlaces := (peers.io.taken << OuterRegs.PeerPlaces.taken.lsb).asUInt |
    (peers.io.round << OuterRegs.PeerPlaces.round.lsb).asUInt
  path.io.verdict := verdict
  path.io.verdict.bits.link.moved := peers.io.takes
  path.io.verdict.bits.link.peerTag := Mux(peers.io.takes, peers.io.tag.asUInt, 0.U)

  private val strip =
    Module(new PacketStripper(new OuterVerdict, 0 +: OuterDecrypt.headerLengths)(_.strip, _.link.length))
  strip.io.in <> path.io.out
  ConnectStream(io.out, strip.io.out)(_ := _.link)

  private val sent = io.out.fire && io.out.bits.last
  io.ready := sad.io.ready && stations.io.ready && rules.io.ready && path.io.ready
  io.events.path := path.io.events
  io.events.drops := classifier.io.drops
  io.events.sadRowUpset := sad.rowUpset
  io.events.peerRowUpset := stations.rowUpset
  io.events.ruleRowUpset := rules.rowUpset
  assert(!sent || !io.out.bits.error, "a packet for the link is shorter than its total length")
  io.events.txEsp := RegNext(sent && !io.out.bits.meta.bypass, false.B)
  io.events.txBypass := RegNext(sent && io.out.bits.meta.bypass, false.B)
}

object OuterDecrypt {

  /**
   * Ethernet with its tags, alone, or with an IPv4 header of 5 to 15 words or an IPv6 header and
   * its extension headers, and, maybe, one of UDP: all steps of 4 bytes, but for the longest with
   * UDP, which [[OuterClassifier]] drops.
   */
  val headerLengths: Seq[Int] = {
    val v4 = Ipv4Header.maxBytes + UdpHeader.bytes
    val v6 = Ipv6Header.bytes + ExtensionStep.unitBytes * ExtensionStep.maxUnits
    EthernetHeader.bytes to EthernetHeader.maxBytes + (v4 max v6) by 4
  }
}
