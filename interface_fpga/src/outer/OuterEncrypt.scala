// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.common.registers.map.{DscpMapRow, NextHopRow, TunnelRow}
import sallyport.common.stream.{ConnectStream, HeaderPrepend, MacBeat, NoMeta, PacketStream, PrependedHeader}
import sallyport.common.table.{DirectTable, TablePort}
import sallyport.iface.cpu.{Injector, InjectorEvents, TokenLimit}
import sallyport.iface.fragmentation.{FragmentCut, Fragmenter}
import sallyport.iface.headers.{EthernetHeader, IpHeader, TransportHeader, TransportPatch, VlanTags}
import sallyport.iface.identifiers.{IdentifierSource, SeedWord}
import sallyport.iface.mac.{MacTransmit, MacTransmitEvents}
import sallyport.iface.stream.LookupStage

/** What happened on the encrypt path in one cycle, besides the link's own events. */
class OuterEncryptEvents extends Bundle {
  val fault = new HeaderFault

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
}

/**
 * From the link to the black port: tunnel row, next hop, headers in front, MTU check, fragments,
 * VLAN tags, MAC.
 *
 * `in` carries ESP packets (from SPI to ICV), bypassed IP packets and whole frames, bypassed or
 * with ESP behind their IP header. An ESP packet's SA names its row of the tunnel table, which
 * names the next hop and may name an array of the DSCP map; a bypassed packet's `sa` names the next
 * hop itself. Without a right row of the map there is no tunnel. [[HeaderBuilder]] says which
 * headers a packet gets, how it is cut if it is too long, and for which faults it is dropped;
 * `events.fault` counts them.
 *
 * A packet every 2 cycles and a beat a cycle, except that headers which push a packet's end into a
 * further beat cost one cycle. Stalls when the MAC does. `inject` carries frames for the port that
 * have come no such way ([[Injector]]). From the last beat of a packet to the first beat of its
 * frame: 26 cycles.
 */
class OuterEncrypt(config: OuterConfig) extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val portMac = Input(UInt(48.W))
    val portMtu = Input(UInt(14.W))

    /** Words of the key of identifications, and whether there is one ([[IdentifierSource]]). */
    val seed = Flipped(Valid(new SeedWord))
    val seeded = Output(Bool())
    val in = Flipped(PacketStream(new LinkMeta))

    /** Frames of the management CPU's own for the port. */
    val inject = Flipped(PacketStream(new NoMeta))
    val injectLimit = Input(new TokenLimit)
    val mac = Decoupled(new MacBeat)
    val tunnelTable = Flipped(new TablePort)
    val nextHopTable = Flipped(new TablePort)
    val dscpMapTable = Flipped(new TablePort)
    val ready = Output(Bool())
    val events = Output(new OuterEncryptEvents)
  })

  private val stage =
    Module(
      new LookupStage(
        new LinkMeta,
        new PrependedHeader(HeaderBuilder.lengths, new OuterTreatment),
        windowBytes = ClearPrefix.lengths.max
      )
    )
  stage.io.in <> io.in
  stage.io.hold := false.B

  private val tunnels = DirectTable(1 << config.saBits, TunnelRow, TunnelRow.valid)
  tunnels.io.table <> io.tunnelTable
  tunnels.io.clear := false.B
  private val launch = stage.io.launch
  tunnels.io.lookup.valid := launch.valid
  tunnels.io.lookup.bits := launch.bits.meta.sa(config.saBits - 1, 0)

  private val meta1 = ShiftRegister(launch.bits.meta, DirectTable.latency)
  private val template1 = TunnelTemplate(tunnels.io.result.bits)
  private val nextHop1 = Mux(meta1.bypass, meta1.sa, template1.nextHop)

  private val nextHops = DirectTable(config.chip.nextHops, NextHopRow, NextHopRow.valid)
  nextHops.io.table <> io.nextHopTable
  nextHops.io.clear := false.B
  nextHops.io.lookup.valid := tunnels.io.result.valid
  nextHops.io.lookup.bits := nextHop1(log2Ceil(config.chip.nextHops) - 1, 0)

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
  builder.io.request.valid := nextHops.io.result.valid
  builder.io.request.bits.meta := ShiftRegister(meta1, DirectTable.latency)
  builder.io.request.bits.tunnel := template2
  builder.io.request.bits.tunnel.valid := ShiftRegister(
    template1.valid && (meta1.sa >> config.saBits) === 0.U,
    DirectTable.latency
  ) && !dscps.upset
  builder.io.request.bits.nextHopValid := nextHops.io.result.bits.hit &&
    ShiftRegister((nextHop1 >> log2Ceil(config.chip.nextHops)) === 0.U, DirectTable.latency)
  builder.io.request.bits.nextHopMac := NextHopRow.mac(nextHops.io.result.bits.row)

  private val built = builder.io.built
  stage.io.result.valid := built.valid
  stage.io.result.bits.bytes := built.bits.bytes
  stage.io.result.bits.select := built.bits.select
  stage.io.result.bits.length := VecInit(HeaderBuilder.lengths.map(_.U(6.W)))(built.bits.select)
  stage.io.result.bits.drop := built.bits.fault.any
  stage.io.result.bits.meta.cut := built.bits.cut
  stage.io.result.bits.meta.patch :=
    ShiftRegister(transport.io.patch, 2 * DirectTable.latency + HeaderBuilder.latency - TransportHeader.latency)

  private val tags =
    Mux(builder.io.request.bits.meta.transport, VlanTags.none, VlanTags.of(nextHops.io.result.bits.row))
  stage.io.result.bits.meta.tags := ShiftRegister(tags, HeaderBuilder.latency)

  private val prepend = Module(new HeaderPrepend(HeaderBuilder.lengths, new OuterTreatment))
  TransportHeader.rewrite(prepend.io.in, stage.io.out)(_.meta.patch)
  private val fragmenter = Module(new Fragmenter(new OuterTreatment, EthernetHeader.bytes)(_.cut)())
  fragmenter.io.in <> prepend.io.out
  private val transmit = Module(new MacTransmit(config.chip.transmitBeats))
  ConnectStream(transmit.io.in, fragmenter.io.out)(_ := _.tags)
  private val injector = Module(Injector.plain(config.chip.injectBeats))
  injector.io.enable := io.enable
  injector.io.limit := io.injectLimit
  injector.io.in <> io.inject
  transmit.io.inject <> injector.io.out
  io.mac <> transmit.io.mac

  io.ready := tunnels.io.ready && nextHops.io.ready && dscps.io.ready && identifiers.io.ready
  io.events.fault := RegNext(
    Mux(built.valid, built.bits.fault, 0.U.asTypeOf(new HeaderFault)),
    0.U.asTypeOf(new HeaderFault)
  )
  io.events.tunnelRowUpset := RegNext(tunnels.upset, false.B)
  io.events.nextHopRowUpset := RegNext(nextHops.upset, false.B)
  io.events.dscpMapRowUpset := RegNext(dscps.upset, false.B)
  io.events.cut := fragmenter.io.cuts
  io.events.further := fragmenter.io.further
  io.events.inject := injector.io.events
  io.events.transmit := transmit.io.events
}
