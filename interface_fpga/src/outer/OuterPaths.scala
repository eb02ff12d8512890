// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.registers.map.{Chip, CommonRegs, OuterCounters, OuterRegs, OuterTables, PuntGroup, PuntReason}
import sallyport.common.registers.{AxiLite, CounterBank, RegisterBankParams}
import sallyport.common.stream.{MacBeat, NoMeta, PacketStream}
import sallyport.common.table.CuckooHash
import sallyport.iface.chip.InterfaceRegisters

/**
 * The outer chip without its link: both paths, registers, counters and tables.
 *
 * `ready` rises when every table is clear; until then, and while CONTROL.rx_enable is 0, frames are
 * dropped as not ready. Packets from the link are dropped as disabled while CONTROL.tx_enable is 0.
 * Each packet is counted once as received or injected, and once as sent, punted, merged or dropped
 * by a name (regs/outer.rdl): in any quiescent state the two are equal on each path.
 */
class OuterPaths(config: OuterConfig) extends Module {
  val io = IO(new Bundle {
    val macRx = Flipped(Valid(new MacBeat))
    val macTx = Decoupled(new MacBeat)

    /** Frames for the management CPU, each behind its punt header. */
    val punt = PacketStream(new NoMeta)

    /** Frames of the management CPU for the port. */
    val inject = Flipped(PacketStream(new NoMeta))
    val axil = Flipped(new AxiLite)
    val toLink = PacketStream(new LinkMeta)
    val fromLink = Flipped(PacketStream(new LinkMeta))
    val linkUp = Input(Bool())

    /**
     * Packets found to be lost on the link in this cycle, and times its receiver lost
     * the framing.
     */
    val linkLost = Input(UInt(CounterBank.incrementBits.W))
    val linkResync = Input(Bool())
    val ready = Output(Bool())
  })

  private val build = Map(
    CommonRegs.build -> CommonRegs.Build.simulation.put(if (config.simulation) 1 else 0),
    CommonRegs.capabilitySaBits -> BigInt(config.saBits),
    CommonRegs.capabilitySadBits -> BigInt(config.sadBits),
    CommonRegs.capabilityWays -> BigInt(CuckooHash.ways),
    CommonRegs.capabilityRules -> BigInt(config.rules),
    CommonRegs.capabilityNextHops -> BigInt(config.nextHops),
    CommonRegs.capabilityLinkBufferBeats -> BigInt(config.linkBeats)
  )
  private val registers = Module(
    new InterfaceRegisters(
      RegisterBankParams(Chip.outer, config.version, OuterRegs.all, OuterCounters.all, build),
      OuterTables.all.length
    )
  )
  registers.io.axil <> io.axil

  private val encrypt = Module(new OuterEncrypt(config))
  private val decrypt = Module(new OuterDecrypt(config))
  private val ready = RegNext(encrypt.io.ready && decrypt.io.ready, false.B)
  private val linkUp = RegNext(io.linkUp, false.B)
  io.ready := ready
  registers.io.ready := ready
  registers.io.linkUp := linkUp
  registers.io.cycles := decrypt.io.cycles

  encrypt.io.enable := registers.io.txEnable
  encrypt.io.portMac := registers.io.portMac
  encrypt.io.inject <> io.inject
  encrypt.io.injectLimit := registers.tokenLimit(OuterRegs.limitInject)
  encrypt.io.portMtu := registers.io.control(OuterRegs.portMtu)(13, 0)
  encrypt.io.in <> io.fromLink
  io.macTx <> encrypt.io.mac
  encrypt.io.tunnelTable <> registers.io.table(OuterTables.tunnel)
  encrypt.io.nextHopTable <> registers.io.table(OuterTables.nextHop)
  encrypt.io.dscpMapTable <> registers.io.table(OuterTables.dscpMap)

  decrypt.io.enable := ready && registers.io.rxEnable
  decrypt.io.bump := registers.io.bump
  decrypt.io.macFilter := registers.io.macFilter
  decrypt.io.priorityDscps := registers.io.priorityDscps
  decrypt.io.portMac := registers.io.portMac
  decrypt.io.local.v4 := registers.io.control(OuterRegs.localIpv4)
  decrypt.io.local.v6 := Cat(
    Seq(
      OuterRegs.localIpv63,
      OuterRegs.localIpv62,
      OuterRegs.localIpv61,
      OuterRegs.localIpv60
    ).map(registers.io.control(_))
  )
  decrypt.io.fragmentLimits.timeout := registers.io.control(OuterRegs.reasmTimeout)(14, 0)
  decrypt.io.fragmentLimits.perSource := registers.io.control(OuterRegs.reasmPerSource)(15, 0)
  decrypt.io.skip := registers.io.extensionSkip
  decrypt.io.puntLimits := VecInit(
    Seq(
      OuterRegs.limitOther,
      OuterRegs.limitIke,
      OuterRegs.limitArp,
      OuterRegs.limitNd,
      OuterRegs.limitIcmp,
      OuterRegs.limitSpi,
      OuterRegs.limitReasm
    ).map(register => registers.tokenLimit(register))
  )
  decrypt.io.peerClear := OuterRegs.PeerControl.clear(registers.io.control(OuterRegs.peerControl))
  decrypt.io.peerPlace := OuterRegs.PeerPlace.place(registers.io.control(OuterRegs.peerPlace))
  registers.io.status(OuterRegs.peerAddress) := decrypt.io.peerShown.peer.address
  registers.io.status(OuterRegs.peerSa) := Cat(decrypt.io.peerShown.peer.port, decrypt.io.peerShown.sa)
  registers.io.status(OuterRegs.peerPlaces) := decrypt.io.peerPlaces
  decrypt.io.linkUp := linkUp
  decrypt.io.mac := io.macRx
  io.toLink <> decrypt.io.out
  io.punt <> decrypt.io.punt
  decrypt.io.sadTable <> registers.io.table(OuterTables.sad)
  decrypt.io.ruleTable <> registers.io.table(OuterTables.rule)

  private val fault = encrypt.io.events.fault
  private val tx = encrypt.io.events.transmit
  private val inject = encrypt.io.events.inject
  private val rx = decrypt.io.events.path.receive
  private val reassembly = decrypt.io.events.path.reassembly
  private val punt = decrypt.io.events.path.punt
  private val drops = decrypt.io.events.drops
  InterfaceRegisters.count(
    registers.io.increments,
    OuterCounters.all,
    Map(
      OuterCounters.linkRxPackets -> RegNext(io.fromLink.fire && io.fromLink.bits.last, false.B),
      OuterCounters.linkRxLost -> io.linkLost,
      OuterCounters.linkResyncs -> io.linkResync,
      OuterCounters.dropTxDisabled -> fault.txDisabled,
      OuterCounters.dropNoTunnel -> fault.noTunnel,
      OuterCounters.dropNoNextHop -> fault.noNextHop,
      OuterCounters.fragPackets -> encrypt.io.events.cut,
      OuterCounters.fragSplit -> encrypt.io.events.further,
      OuterCounters.dropMtu -> fault.mtu,
      OuterCounters.injectFrames -> inject.frames,
      OuterCounters.dropInjectDisabled -> inject.dropDisabled,
      OuterCounters.dropInjectLength -> inject.dropLength,
      OuterCounters.txFrames -> tx.txFrames,
      OuterCounters.txBytes -> tx.txBytes,
      OuterCounters.rxFrames -> rx.rxFrames,
      OuterCounters.rxBytes -> rx.rxBytes,
      OuterCounters.dropRxBadFcs -> rx.dropBadFcs,
      OuterCounters.dropRxUndersize -> rx.dropUndersize,
      OuterCounters.dropRxOversize -> rx.dropOversize,
      OuterCounters.dropRxOverflow -> rx.dropOverflow,
      OuterCounters.dropRxPriorityOverflow -> rx.dropPriorityOverflow,
      OuterCounters.rxPriority -> rx.priority,
      OuterCounters.dropNotReady -> rx.dropNotReady,
      OuterCounters.dropMacFilter -> drops.macFilter,
      OuterCounters.dropIpMalformed -> drops.ipMalformed,
      OuterCounters.dropIpChecksum -> drops.ipChecksum,
      OuterCounters.dropTtlExpired -> drops.ttlExpired,
      OuterCounters.dropEspTruncated -> drops.espTruncated,
      OuterCounters.dropUnknownSpi -> drops.unknownSpi,
      OuterCounters.dropEncapMismatch -> drops.encapMismatch,
      OuterCounters.dropTransportHeader -> drops.transportHeader,
      OuterCounters.dropUdpMalformed -> drops.udpMalformed,
      OuterCounters.dropNattKeepalive -> drops.nattKeepalive,
      OuterCounters.dropPolicy -> drops.policy,
      OuterCounters.dropLinkDown -> drops.linkDown,
      OuterCounters.dropPuntOverflow -> punt.dropOverflow,
      OuterCounters.puntArp -> punt.punted(PuntReason.arp),
      OuterCounters.puntNd -> punt.punted(PuntReason.nd),
      OuterCounters.dropPuntOther -> punt.refused(PuntGroup.other),
      OuterCounters.dropPuntIke -> punt.refused(PuntGroup.ike),
      OuterCounters.dropPuntArp -> punt.refused(PuntGroup.arp),
      OuterCounters.dropPuntNd -> punt.refused(PuntGroup.nd),
      OuterCounters.dropPuntIcmp -> punt.refused(PuntGroup.icmp),
      OuterCounters.dropPuntUnknownSpi -> punt.refused(PuntGroup.unknownSpi),
      OuterCounters.dropPuntReasm -> punt.refused(PuntGroup.reasm),
      OuterCounters.puntReasm -> punt.punted(PuntReason.reasm),
      OuterCounters.puntUnknownSpi -> punt.punted(PuntReason.unknownSpi),
      OuterCounters.puntIpv6 -> punt.punted(PuntReason.ipv6),
      OuterCounters.puntVlan -> punt.punted(PuntReason.vlan),
      OuterCounters.puntFragment -> punt.punted(PuntReason.fragment),
      OuterCounters.puntIke -> punt.punted(PuntReason.ike),
      OuterCounters.puntIcmp -> punt.punted(PuntReason.icmp),
      OuterCounters.puntOther -> punt.punted(PuntReason.other),
      OuterCounters.puntExtensionHeaders -> punt.punted(PuntReason.extensionHeaders),
      OuterCounters.puntPolicy -> punt.punted(PuntReason.policy),
      OuterCounters.txEsp -> decrypt.io.events.txEsp,
      OuterCounters.txBypass -> decrypt.io.events.txBypass,
      OuterCounters.dropReasmOverflow -> reassembly.dropOverflow,
      OuterCounters.dropReasmLength -> reassembly.dropLength,
      OuterCounters.dropReasmHeaders -> reassembly.dropHeaders,
      OuterCounters.dropReasmFull -> reassembly.dropFull,
      OuterCounters.dropReasmSource -> reassembly.dropSource,
      OuterCounters.dropReasmOversize -> reassembly.dropOversize,
      OuterCounters.dropReasmMemory -> reassembly.dropMemory,
      OuterCounters.dropReasmEnd -> reassembly.dropEnd,
      OuterCounters.dropReasmEcn -> reassembly.dropEcn,
      OuterCounters.dropReasmOverlap -> reassembly.dropOverlap,
      OuterCounters.dropReasmTimeout -> reassembly.dropTimeout,
      OuterCounters.reasmMerged -> reassembly.merged,
      OuterCounters.reasmDatagrams -> reassembly.reassembled
    )
  )
}
