// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{Chip, CommonRegs, OuterCounters, OuterRegs, OuterTables, PuntGroup, PuntReason}
import sallyport.common.registers.RegisterBankParams
import sallyport.common.stream.{ConnectStream, NoMeta, PacketArbiter}
import sallyport.common.table.{CuckooTable, CuckooTableParams}
import sallyport.iface.chip.{InterfaceRegisters, PathsIO, PortCounts}
import sallyport.iface.forwarding.HostEvents

/**
 * The outer chip without its link: both paths, registers, counters and tables.
 *
 * `ready` rises when every table is clear; until then, and while CONTROL.rx_enable is 0, frames are
 * dropped as not ready. Packets from the link are dropped as disabled while CONTROL.tx_enable is 0.
 * Each packet is counted once as received or injected, and once as sent, punted, merged or dropped
 * by a name (regs/outer.rdl): in any quiescent state the two are equal on each path.
 *
 * @param hostTable makes the table of hosts
 */
class OuterPaths(config: OuterConfig, hostTable: CuckooTableParams => CuckooTable = new CuckooTable(_)) extends Module {
  val io = IO(new PathsIO)

  private val build = config.chip.registers ++ Map(
    CommonRegs.capabilitySaBits -> BigInt(config.saBits),
    CommonRegs.capabilitySadBits -> BigInt(config.sadBits),
    CommonRegs.capabilityPeerBits -> BigInt(config.peerBits),
    CommonRegs.capabilityHostBits -> BigInt(config.hostBits),
    CommonRegs.capabilityPrefixBits -> BigInt(config.prefixBits)
  )
  private val registers = Module(
    new InterfaceRegisters(
      RegisterBankParams(Chip.outer, config.chip.version, OuterRegs.all, OuterCounters.all, build),
      OuterTables.all.length,
      OuterPaths.puntLimits
    )
  )
  registers.io.axil <> io.axil

  private val encrypt = Module(new OuterEncrypt(config, hostTable))
  private val decrypt = Module(new OuterDecrypt(config))
  private val ready = RegNext(encrypt.io.ready && decrypt.io.ready, false.B)
  private val linkUp = RegNext(io.linkUp, false.B)
  io.ready := ready
  registers.io.ready := ready
  registers.io.linkUp := linkUp
  registers.io.coreKhz := io.coreKhz
  registers.io.cycles := decrypt.io.cycles

  encrypt.io.enable := registers.io.txEnable
  encrypt.io.portMac := registers.io.portMac
  // A frame that is to go by policies must not leave here, where none judges it.
  ConnectStream(encrypt.io.inject, io.inject)((_, _) => ())
  encrypt.io.inject.bits.error := io.inject.bits.error || io.inject.bits.meta.encrypt
  encrypt.io.injectLimit := registers.tokenLimit(OuterRegs.limitInject)
  encrypt.io.portMtu := registers.io.portMtu
  private val network = registers.io.control(OuterRegs.localPrefix)
  encrypt.io.box.own := registers.io.receive.own
  encrypt.io.box.prefixV4 := OuterRegs.LocalPrefix.ipv4(network)
  encrypt.io.box.prefixV6 := OuterRegs.LocalPrefix.ipv6(network)
  private val seed = registers.io.control(OuterRegs.identifierSeed)
  encrypt.io.seed.valid := OuterRegs.IdentifierSeed.load(seed)
  encrypt.io.seed.bits.first := OuterRegs.IdentifierSeed.first(seed)
  encrypt.io.seed.bits.word := OuterRegs.IdentifierSeed.word(seed)
  registers.io.status(OuterRegs.identifiers) :=
    (encrypt.io.seeded << OuterRegs.Identifiers.seeded.lsb).asUInt
  encrypt.io.in <> io.fromLink
  io.macTx <> encrypt.io.mac
  encrypt.io.tunnelTable <> registers.io.table(OuterTables.tunnel)
  private val clear = encrypt.io.clearTables
  for (
    (table, number) <- Seq(
      clear.nextHop -> OuterTables.nextHop,
      clear.host -> OuterTables.blackHost,
      clear.group -> OuterTables.blackHopGroup,
      clear.prefixes.node -> OuterTables.blackPrefix,
      clear.prefixes.child -> OuterTables.blackPrefixChild,
      clear.prefixes.root -> OuterTables.blackPrefixRoot
    )
  ) table <> registers.io.table(number)
  encrypt.io.dscpMapTable <> registers.io.table(OuterTables.dscpMap)

  decrypt.io.receive := registers.io.receive
  decrypt.io.local := registers.io.receive.own
  decrypt.io.peerClear := OuterRegs.PeerControl.clear(registers.io.control(OuterRegs.peerControl))
  decrypt.io.peerPlace := OuterRegs.PeerPlace.place(registers.io.control(OuterRegs.peerPlace))
  registers.io.status(OuterRegs.peerAddress) := decrypt.io.peerShown.peer.address
  registers.io.status(OuterRegs.peerSa) := Cat(decrypt.io.peerShown.peer.port, decrypt.io.peerShown.sa)
  registers.io.status(OuterRegs.peerPlaces) := decrypt.io.peerPlaces
  decrypt.io.linkUp := linkUp
  decrypt.io.mac := io.macRx
  io.toLink <> decrypt.io.out
  private val punts = Module(new PacketArbiter(new NoMeta, 2))
  punts.io.in(0) <> decrypt.io.punt
  punts.io.in(1) <> encrypt.io.punt
  io.punt <> punts.io.out
  encrypt.io.puntLimits := VecInit(OuterPaths.encryptLimits.map(registers.tokenLimit))
  decrypt.io.sadTable <> registers.io.table(OuterTables.sad)
  decrypt.io.ruleTable <> registers.io.table(OuterTables.rule)
  decrypt.io.peerTable <> registers.io.table(OuterTables.peer)

  private val hosts = Module(new HostEvents)
  private val hostControl = registers.io.control(OuterRegs.hostControl)
  hosts.io.event := encrypt.io.events.unresolved
  hosts.io.pop := OuterRegs.HostControl.pop(hostControl)
  hosts.io.clearLost := OuterRegs.HostControl.clearLost(hostControl)
  registers.io.status(OuterRegs.hostEvent) := hosts.io.value
  for ((register, n) <- OuterPaths.hostWords.zipWithIndex)
    registers.io.status(register) := hosts.io.address(32 * n + 31, 32 * n)

  private val fault = encrypt.io.events.fault
  private val clearFault = encrypt.io.events.clearFault
  private val clearDrops = encrypt.io.events.clear
  private val punt = decrypt.io.events.path.punt
  private val clearPunt = encrypt.io.events.punt
  private val drops = decrypt.io.events.drops
  InterfaceRegisters.count(
    registers.io.increments,
    OuterCounters.all,
    PortCounts(
      io,
      decrypt.io.events.path,
      decrypt.io.events.drops,
      encrypt.io.events.transmit,
      encrypt.io.events.inject
    ),
    Map(
      OuterCounters.dropTxDisabled -> RegNext(fault.txDisabled +& clearFault.txDisabled, 0.U),
      OuterCounters.dropNoIdentifier -> fault.noIdentifier,
      OuterCounters.dropNoTunnel -> fault.noTunnel,
      OuterCounters.dropNoNextHop -> RegNext(fault.noNextHop +& clearPunt.refused(PuntGroup.clearRoute), 0.U),
      OuterCounters.dropUnresolved -> clearPunt.refused(PuntGroup.clearHost),
      OuterCounters.puntClearHost -> clearPunt.punted(PuntReason.clearHost),
      OuterCounters.puntClearRoute -> clearPunt.punted(PuntReason.clearRoute),
      OuterCounters.dropClearPuntOverflow -> clearPunt.dropOverflow,
      OuterCounters.dropHostUpset -> clearDrops.hostUpset,
      OuterCounters.dropPrefixUpset -> clearDrops.prefixUpset,
      OuterCounters.hostRowUpset -> encrypt.io.events.hostRowUpset,
      OuterCounters.prefixRowUpset -> encrypt.io.events.prefixRowUpset,
      OuterCounters.tunnelRowUpset -> encrypt.io.events.tunnelRowUpset,
      OuterCounters.nextHopRowUpset -> encrypt.io.events.nextHopRowUpset,
      OuterCounters.dscpMapRowUpset -> encrypt.io.events.dscpMapRowUpset,
      OuterCounters.fragPackets -> encrypt.io.events.cut,
      OuterCounters.fragSplit -> encrypt.io.events.further,
      OuterCounters.dropMtu -> RegNext(fault.mtu +& clearFault.mtu, 0.U),
      OuterCounters.dropTtlExpired -> drops.ttlExpired,
      OuterCounters.dropEspTruncated -> drops.espTruncated,
      OuterCounters.dropSadUpset -> drops.sadUpset,
      OuterCounters.sadRowUpset -> decrypt.io.events.sadRowUpset,
      OuterCounters.dropPolicyUpset -> drops.policyUpset,
      OuterCounters.peerRowUpset -> decrypt.io.events.peerRowUpset,
      OuterCounters.ruleRowUpset -> decrypt.io.events.ruleRowUpset,
      OuterCounters.dropUnknownSpi -> drops.unknownSpi,
      OuterCounters.dropEncapMismatch -> drops.encapMismatch,
      OuterCounters.dropUdpMalformed -> drops.udpMalformed,
      OuterCounters.dropNattKeepalive -> drops.nattKeepalive,
      OuterCounters.dropPuntIke -> punt.refused(PuntGroup.ike),
      OuterCounters.dropPuntIkeCookie -> punt.refused(PuntGroup.ikeCookie),
      OuterCounters.dropPuntIkeInit -> punt.refused(PuntGroup.ikeInit),
      OuterCounters.dropPuntIcmp -> punt.refused(PuntGroup.icmp),
      OuterCounters.dropPuntUnknownSpi -> punt.refused(PuntGroup.unknownSpi),
      OuterCounters.dropPuntReasm -> punt.refused(PuntGroup.reasm),
      OuterCounters.controlRepaired -> registers.io.repaired,
      OuterCounters.puntReasm -> punt.punted(PuntReason.reasm),
      OuterCounters.puntUnknownSpi -> punt.punted(PuntReason.unknownSpi),
      OuterCounters.puntIke -> punt.punted(PuntReason.ike),
      OuterCounters.puntIkeCookie -> punt.punted(PuntReason.ikeCookie),
      OuterCounters.puntIkeInit -> punt.punted(PuntReason.ikeInit),
      OuterCounters.puntIcmp -> punt.punted(PuntReason.icmp),
      OuterCounters.txEsp -> decrypt.io.events.txEsp,
      OuterCounters.txBypass -> decrypt.io.events.txBypass
    )
  )
}

object OuterPaths {

  /** The address of HOST_EVENT, 32 bits each, from bit 0 on. */
  private val hostWords = Seq(OuterRegs.hostAddr0, OuterRegs.hostAddr1, OuterRegs.hostAddr2, OuterRegs.hostAddr3)

  /** Token buckets of [[OuterConfig.puntGroups]]. */
  private val puntLimits = Seq(
    OuterRegs.limitOther,
    OuterRegs.limitIke,
    OuterRegs.limitIkeCookie,
    OuterRegs.limitIkeInit,
    OuterRegs.limitArp,
    OuterRegs.limitNd,
    OuterRegs.limitResolution,
    OuterRegs.limitLinkLocal,
    OuterRegs.limitIcmp,
    OuterRegs.limitSpi,
    OuterRegs.limitReasm
  )

  /** Those of [[OuterConfig.encryptGroups]]. */
  private val encryptLimits = Seq(OuterRegs.limitClearHost, OuterRegs.limitClearRoute)
}
