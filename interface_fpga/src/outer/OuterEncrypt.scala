// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.common.queue.RingDelay
import sallyport.common.registers.map.{DscpMapRow, NextHopRow, TunnelRow}
import sallyport.common.stream.{ConnectStream, HeaderPrepend, MacBeat, NoMeta, PacketStream}
import sallyport.common.table.{CuckooTable, CuckooTableParams, DirectTable, TablePort}
import sallyport.iface.cpu.{Injector, InjectorEvents, PuntBranch, PuntEvents, TokenLimit}
import sallyport.iface.forwarding.{HostAddress, NextHopQuery}
import sallyport.iface.fragmentation.{FragmentCut, Fragmenter}
import sallyport.iface.headers.{EthernetHeader, IpHeader, TransportHeader, TransportPatch, VlanTags}
import sallyport.iface.identifiers.{IdentifierSource, SeedWord}
import sallyport.iface.mac.{MacTransmit, MacTransmitEvents}
import sallyport.iface.receive.BoxAddresses
import sallyport.iface.stream.LookupStage

/** What happened on the encrypt path in one cycle, besides the link's own events. */
class OuterEncryptEvents extends Bundle {
  val fault = new HeaderFault

  /** The same of clear packets, and what else befalls them. Those without a station are punted. */
  val clearFault = new HeaderFault
  val clear = new ClearFault
  val punt = new PuntEvents

  /** Where a packet was `unresolved`. */
  val unresolved = Valid(new HostAddress)

  /** A look-up met a row of hosts, or of prefixes or their groups, with a flipped bit. */
  val hostRowUpset = Bool()
  val prefixRowUpset = Bool()

  /** The row of a packet in one of these tables has a flipped bit, and counts as not valid. */
  val tunnelRowUpset = Bool()
  val nextHopRowUpset = Bool()
  val dscpMapRowUpset = Bool()

  /** A packet is cut; a fragment but the first of its packet has been made. */
  val cut = Bool()
  val further = Bool()
  val inject = new InjectorEvents
  val transmit = new MacTransmitEvents
}

/** The changes to a packet on its way to the black port, besides its headers in front. */
class OuterTreatment extends Bundle {
  val cut = new FragmentCut
  val patch = new TransportPatch
  val tags = new VlanTags
  val punt = new ClearPunt
}

/**
 * From the link to the black port: tunnel row, next hop, headers in front, MTU check, fragments,
 * VLAN tags, MAC.
 *
 * `in` carries ESP packets (from SPI to ICV), bypassed IP packets and whole frames, bypassed or
 * with ESP behind their IP header. An ESP packet's SA names its row of the tunnel table, which
 * names the next hop and may name an array of the DSCP map. A bypassed IP packet goes to the
 * station that [[ClearNextHop]] finds; its `sa` names the next hop that it has without a host and a
 * prefix. One without a station leaves by `punt` ([[ClearOutcome]]). Without a right row of the map
 * there is no tunnel. [[HeaderBuilder]] says which headers a packet gets, how it is cut if it is
 * too long, and for which faults it is dropped; `events` counts them.
 *
 * A packet every 2 cycles and a beat a cycle, except that headers which push a packet's end into a
 * further beat cost one cycle. Stalls when the MAC does. `inject` carries frames for the port that
 * have come no such way ([[Injector]]). From the last beat of a packet to the first beat of its
 * frame: 26 cycles; of a clear IP packet 52, and of packets behind it up to as many, since none
 * passes another.
 *
 * @param hostTable makes the table of hosts
 */
class OuterEncrypt(config: OuterConfig, hostTable: CuckooTableParams => CuckooTable = new CuckooTable(_))
    extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val portMac = Input(UInt(48.W))
    val portMtu = Input(UInt(14.W))

    /** At the black port. */
    val box = Input(new BoxAddresses)

    /** Words of the key of identifications, and whether there is one ([[IdentifierSource]]). */
    val seed = Flipped(Valid(new SeedWord))
    val seeded = Output(Bool())
    val in = Flipped(PacketStream(new LinkMeta))

    /** Frames of the management CPU's own for the port. */
    val inject = Flipped(PacketStream(new NoMeta))
    val injectLimit = Input(new TokenLimit)
    val puntLimits = Input(Vec(OuterConfig.encryptGroups.length, new TokenLimit))
    val punt = PacketStream(new NoMeta)
    val mac = Decoupled(new MacBeat)
    val tunnelTable = Flipped(new TablePort)
    val clearTables = new ClearTables
    val dscpMapTable = Flipped(new TablePort)
    val ready = Output(Bool())
    val events = Output(new OuterEncryptEvents)
  })

  private val stage =
    Module(
      new LookupStage(
        new LinkMeta,
        new EncryptVerdict,
        windowBytes = ClearPrefix.lengths.max,
        results = OuterEncrypt.packets
      )
    )
  stage.io.in <> io.in
  stage.io.hold := false.B

  private val tunnels = DirectTable.banked(1 << config.saBits, TunnelRow, TunnelRow.valid)
  tunnels.io.table <> io.tunnelTable
  tunnels.io.clear := false.B
  private val launch = stage.io.launch
  tunnels.io.lookup.valid := launch.valid
  tunnels.io.lookup.bits := launch.bits.meta.sa(config.saBits - 1, 0)

  private val meta1 = ShiftRegister(launch.bits.meta, DirectTable.bankedLatency)
  private val template1 = TunnelTemplate(tunnels.io.result.bits)
  private val nextHop1 = template1.nextHop

  // A clear packet looks for its station itself, which takes longer.
  private val clearHop = Module(new ClearNextHop(config, hostTable))
  private def isClear(meta: LinkMeta): Bool = meta.bypass && !meta.transport
  clearHop.io.box := io.box
  clearHop.io.tables <> io.clearTables
  clearHop.io.query.valid := launch.valid && isClear(launch.bits.meta)
  clearHop.io.query.bits.packet := NextHopQuery(launch.bits.bytes)
  clearHop.io.query.bits.named := launch.bits.meta.sa
  private val nextHops = clearHop.io.direct
  nextHops.row.valid := tunnels.io.result.valid && !meta1.bypass
  nextHops.row.bits := nextHop1(log2Ceil(config.chip.nextHops) - 1, 0)

  // What the tunnel's array makes of the inner DSCP, beside the next hop.
  private val dscps = DirectTable(TunnelTemplate.mapRows, DscpMapRow, DscpMapRow.valid)
  dscps.io.table <> io.dscpMapTable
  dscps.io.clear := false.B
  dscps.io.lookup.valid := tunnels.io.result.valid && template1.dscpMap
  dscps.io.lookup.bits := template1.mapRow(meta1.tos(7, 2))
  private val template2 = ShiftRegister(template1, DirectTable.latency).mapped(dscps.io.result.bits)

  // ESP of transport mode: its IP header is there, and becomes ESP's.
  private val transport = Module(new TransportHeader)
  transport.io.bytes := launch.bits.bytes
  transport.io.meta := launch.bits.meta
  transport.io.protocol := IpHeader.esp.U

  private val builder = Module(new HeaderBuilder)
  builder.io.enable := io.enable
  builder.io.portMac := io.portMac
  builder.io.portMtu := io.portMtu
  private val identifiers = Module(new IdentifierSource)
  identifiers.io.seed := io.seed
  io.seeded := identifiers.io.seeded
  builder.io.identifiers <> identifiers.io.out
  builder.io.request.valid := ShiftRegister(tunnels.io.result.valid, DirectTable.latency, false.B, true.B)
  builder.io.request.bits.meta := ShiftRegister(meta1, DirectTable.latency)
  builder.io.request.bits.tunnel := template2
  builder.io.request.bits.tunnel.valid := ShiftRegister(
    template1.valid && (meta1.sa >> config.saBits) === 0.U,
    DirectTable.latency
  ) && !dscps.upset
  private val meta2 = builder.io.request.bits.meta
  builder.io.request.bits.nextHopValid := isClear(meta2) || nextHops.found.hit &&
    ShiftRegister((nextHop1 >> log2Ceil(config.chip.nextHops)) === 0.U, DirectTable.latency)
  builder.io.request.bits.nextHopMac := NextHopRow.mac(nextHops.found.row)

  private val built = builder.io.built
  private val header = stage.io.result.bits.header
  private val awaits = ShiftRegister(isClear(meta2), HeaderBuilder.latency)
  stage.io.result.valid := built.valid
  stage.io.result.bits.awaits := awaits
  header.bytes := built.bits.bytes
  header.select := built.bits.select
  header.length := VecInit(HeaderBuilder.lengths.map(_.U(6.W)))(built.bits.select)
  header.drop := built.bits.fault.any
  header.meta.cut := built.bits.cut
  header.meta.patch :=
    ShiftRegister(transport.io.patch, OuterEncrypt.builtTime - TransportHeader.latency)

  private val tags = Mux(meta2.transport, VlanTags.none, VlanTags.of(nextHops.found.row))
  header.meta.tags := ShiftRegister(tags, HeaderBuilder.latency)
  header.meta.punt := 0.U.asTypeOf(new ClearPunt)

  // The station of a clear packet, or what else becomes of it.
  private val outcome = Module(new ClearOutcome)
  outcome.io.portMac := io.portMac
  outcome.io.headers := RingDelay(built.bits.fault, OuterEncrypt.clearWait)
  outcome.io.station := clearHop.io.station
  outcome.io.host := clearHop.io.unresolved
  private val join = Module(new ClearJoin(OuterEncrypt.packets))
  join.io.answer := outcome.io.answer
  join.io.in <> stage.io.out

  private val prepend = Module(new HeaderPrepend(HeaderBuilder.lengths, new OuterTreatment))
  TransportHeader.rewrite(prepend.io.in, join.io.out)(_.meta.patch)
  private val punt = Module(
    new PuntBranch(new OuterTreatment, OuterConfig.puntPort, OuterConfig.encryptGroups, config.chip.puntBeats)(
      _.punt.toPunt,
      _.punt.meta
    )
  )
  punt.io.limits := io.puntLimits
  punt.io.in <> prepend.io.out
  io.punt <> punt.io.punt
  private val fragmenter = Module(new Fragmenter(new OuterTreatment, EthernetHeader.bytes)(_.cut)())
  fragmenter.io.in <> punt.io.out
  private val transmit = Module(new MacTransmit(config.chip.transmitBeats))
  ConnectStream(transmit.io.in, fragmenter.io.out)(_ := _.tags)
  private val injector = Module(Injector.plain(config.chip.injectBeats))
  injector.io.enable := io.enable
  injector.io.limit := io.injectLimit
  injector.io.in <> io.inject
  transmit.io.inject <> injector.io.out
  io.mac <> transmit.io.mac

  io.ready := tunnels.io.ready && clearHop.io.ready && dscps.io.ready && identifiers.io.ready
  private def event[T <: Data](happens: Bool, what: T): T = {
    val none = 0.U.asTypeOf(chiselTypeOf(what))
    RegNext(Mux(happens, what, none), none)
  }
  io.events.fault := event(built.valid && !awaits, built.bits.fault)
  io.events.clearFault := event(outcome.io.answer.valid, outcome.io.headers)
  io.events.clear := event(outcome.io.answer.valid, outcome.io.fault)
  io.events.punt := punt.io.events
  io.events.unresolved.valid := RegNext(outcome.io.unresolved.valid, false.B)
  io.events.unresolved.bits := RegNext(outcome.io.unresolved.bits)
  io.events.hostRowUpset := clearHop.io.upsets.host
  io.events.prefixRowUpset := clearHop.io.upsets.prefix
  io.events.tunnelRowUpset := RegNext(tunnels.upset, false.B)
  io.events.nextHopRowUpset := clearHop.io.upsets.nextHop
  io.events.dscpMapRowUpset := RegNext(dscps.upset, false.B)
  io.events.cut := fragmenter.io.cuts
  io.events.further := fragmenter.io.further
  io.events.inject := injector.io.events
  io.events.transmit := transmit.io.events
}

object OuterEncrypt {

  /** Packets under way in the look-ups. */
  private val packets: Int = 32

  /** Cycles from a packet's launch to its headers. */
  private val builtTime: Int = DirectTable.bankedLatency + DirectTable.latency + HeaderBuilder.latency

  /** Cycles that a clear packet's station takes longer than its headers. */
  val clearWait: Int = ClearNextHop.latency - builtTime
}
