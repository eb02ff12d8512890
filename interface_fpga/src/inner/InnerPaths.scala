// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import sallyport.common.registers.map.{
  Chip,
  CommonRegs,
  InnerCounters,
  InnerRegs,
  InnerTables,
  NetworkRow,
  PuntGroup,
  PuntReason
}
import sallyport.common.registers.{AuditEvents, CounterBank, RegisterBankParams}
import sallyport.common.stream.{ConnectStream, NoMeta, PacketArbiter}
import sallyport.common.table.{CuckooTable, CuckooTableParams, TernaryTable, TernaryTableParams}
import sallyport.iface.chip.{InterfaceRegisters, PathsIO, PortCounts}
import sallyport.iface.forwarding.HostEvents
import sallyport.iface.prefixes.PrefixTurns
import sallyport.iface.usage.LifetimeEvents

/**
 * The inner chip without its link: both paths, registers, counters and tables.
 *
 * `ready` rises when every table is clear; until then, and while CONTROL.rx_enable is 0, frames are
 * dropped as not ready, and no packet is taken from the link until `ready`. Each packet is counted
 * once as received, injected or made here, and once as sent, punted, merged or dropped by a name
 * (regs/inner.rdl): in any quiescent state the two are equal on each path.
 *
 * @param replay of so many bits of a window row's number
 * @param flowTable makes the table of flows
 * @param ruleTable makes the tables of rules
 * @param hostTable makes the table of hosts
 * @param networkTable makes the table of networks
 */
class InnerPaths(
    config: InnerConfig,
    replay: Int => AntiReplay = new AntiReplay(_),
    flowTable: CuckooTableParams => CuckooTable = new CuckooTable(_),
    ruleTable: TernaryTableParams => TernaryTable = new TernaryTable(_),
    hostTable: CuckooTableParams => CuckooTable = new CuckooTable(_),
    networkTable: () => Networks = () => new Networks
) extends Module {
  val io = IO(new PathsIO)

  private val build = config.chip.registers ++ Map(
    CommonRegs.capabilitySaBits -> BigInt(config.saBits),
    CommonRegs.capabilityFlowBits -> BigInt(config.flowBits),
    CommonRegs.capabilityHostBits -> BigInt(config.hostBits),
    CommonRegs.capabilityPrefixBits -> BigInt(config.prefixBits),
    CommonRegs.capabilityPolicyBits -> BigInt(config.policyBits),
    CommonRegs.capabilityReplayWindow -> BigInt(ReplayWindow.size)
  )
  private val registers = Module(
    new InterfaceRegisters(
      RegisterBankParams(Chip.inner, config.chip.version, InnerRegs.all, InnerCounters.all, build),
      InnerTables.all.length,
      InnerPaths.puntLimits
    )
  )
  registers.io.axil <> io.axil

  private val encrypt = Module(new InnerEncrypt(config, flowTable, ruleTable, networkTable))
  private val decrypt = Module(new InnerDecrypt(config, replay, ruleTable, hostTable))
  private val prefixes = Module(new PrefixTurns(1 << config.prefixBits, 1 << NetworkRow.network.width))
  private val ready = RegNext(encrypt.io.ready && decrypt.io.ready && prefixes.io.ready, false.B)
  private val linkUp = RegNext(io.linkUp, false.B)
  io.ready := ready
  registers.io.ready := ready
  registers.io.linkUp := linkUp
  registers.io.coreKhz := io.coreKhz
  registers.io.cycles := encrypt.io.cycles

  encrypt.io.receive := registers.io.receive
  encrypt.io.linkUp := linkUp
  encrypt.io.dummies := RegNext(registers.io.receive.enable && linkUp, false.B)
  encrypt.io.mac := io.macRx
  io.toLink <> encrypt.io.out
  private val punts = Module(new PacketArbiter(new NoMeta, 2))
  punts.io.in(0) <> encrypt.io.punt
  punts.io.in(1) <> decrypt.io.punt
  io.punt <> punts.io.out
  encrypt.io.flowTable <> registers.io.table(InnerTables.flow)
  encrypt.io.prefixPolicyTable <> registers.io.table(InnerTables.prefixPolicy)
  encrypt.io.networkTable <> registers.io.table(InnerTables.network)
  encrypt.io.ruleTable <> registers.io.table(InnerTables.rule)
  encrypt.io.dscpSaTable <> registers.io.table(InnerTables.dscpSa)
  encrypt.io.outboundUsageTable <> registers.io.table(InnerTables.outboundUsage)
  encrypt.io.policyUsageTable <> registers.io.table(InnerTables.policyUsage)
  encrypt.io.dummyTable <> registers.io.table(InnerTables.dummy)

  decrypt.io.enable := registers.io.txEnable
  decrypt.io.portMac := registers.io.portMac
  decrypt.io.portMtu := registers.io.portMtu
  private val network = registers.io.control(InnerRegs.localPrefix)
  decrypt.io.box.own := registers.io.receive.own
  decrypt.io.box.prefixV4 := InnerRegs.LocalPrefix.ipv4(network)
  decrypt.io.box.prefixV6 := InnerRegs.LocalPrefix.ipv6(network)
  decrypt.io.skip := registers.io.extensionSkip
  decrypt.io.fragmentTimeout := registers.io.receive.fragmentLimits.timeout
  private val injects = io.inject.bits.meta.encrypt
  for ((path, chosen) <- Seq(encrypt.io.inject -> injects, decrypt.io.inject -> !injects)) {
    ConnectStream(path, io.inject)((_, _) => ())
    path.valid := io.inject.valid && chosen
  }
  io.inject.ready := Mux(injects, encrypt.io.inject.ready, decrypt.io.inject.ready)
  encrypt.io.injectLimit := registers.tokenLimit(InnerRegs.limitInjectEncrypt)
  decrypt.io.injectLimit := registers.tokenLimit(InnerRegs.limitInject)
  decrypt.io.in <> io.fromLink
  io.macTx <> decrypt.io.mac
  encrypt.io.hairpin <> decrypt.io.hairpin
  decrypt.io.puntLimits := VecInit(InnerPaths.decryptLimits.map(registers.tokenLimit))
  decrypt.io.selectorTable <> registers.io.table(InnerTables.selector)
  decrypt.io.ruleTable <> registers.io.table(InnerTables.inboundRule)
  decrypt.io.nextHopTable <> registers.io.table(InnerTables.nextHop)
  decrypt.io.hostTable <> registers.io.table(InnerTables.host)
  prefixes.io.tables.node <> registers.io.table(InnerTables.prefix)
  prefixes.io.tables.child <> registers.io.table(InnerTables.prefixChild)
  prefixes.io.tables.root <> registers.io.table(InnerTables.prefixRoot)
  prefixes.io.route := decrypt.io.route
  decrypt.io.group := prefixes.io.group
  decrypt.io.groupUpset := prefixes.io.groupUpset
  prefixes.io.policy := encrypt.io.policy
  encrypt.io.place := prefixes.io.place
  decrypt.io.groupTable <> registers.io.table(InnerTables.hopGroup)
  decrypt.io.replayTable <> registers.io.table(InnerTables.replay)
  decrypt.io.usageTable <> registers.io.table(InnerTables.inboundUsage)

  private val lifetimes = Module(new LifetimeEvents)
  private val lifetimeControl = registers.io.control(InnerRegs.lifetimeControl)
  lifetimes.io.outbound := encrypt.io.events.lifetime
  lifetimes.io.inbound := decrypt.io.events.lifetime
  lifetimes.io.pop := InnerRegs.LifetimeControl.pop(lifetimeControl)
  lifetimes.io.clearLost := InnerRegs.LifetimeControl.clearLost(lifetimeControl)
  registers.io.status(InnerRegs.lifetimeEvent) := lifetimes.io.value

  private val peers = Module(new PeerEvents)
  private val peerControl = registers.io.control(InnerRegs.peerControl)
  peers.io.event := decrypt.io.events.peer
  peers.io.pop := InnerRegs.PeerControl.pop(peerControl)
  peers.io.clearLost := InnerRegs.PeerControl.clearLost(peerControl)
  registers.io.status(InnerRegs.peerEvent) := peers.io.value

  private val hosts = Module(new HostEvents)
  private val hostControl = registers.io.control(InnerRegs.hostControl)
  hosts.io.event := decrypt.io.events.unresolved
  hosts.io.pop := InnerRegs.HostControl.pop(hostControl)
  hosts.io.clearLost := InnerRegs.HostControl.clearLost(hostControl)
  registers.io.status(InnerRegs.hostEvent) := hosts.io.value
  for ((register, n) <- InnerPaths.hostWords.zipWithIndex)
    registers.io.status(register) := hosts.io.address(32 * n + 31, 32 * n)

  private val audit = Module(new AuditEvents(DecryptAudit.keyBits))
  private val auditControl = registers.io.control(InnerRegs.auditControl)
  audit.io.event := decrypt.io.events.audit
  audit.io.cycles := encrypt.io.cycles
  audit.io.pop := InnerRegs.AuditControl.pop(auditControl)
  audit.io.clearLost := InnerRegs.AuditControl.clearLost(auditControl)
  registers.io.status(InnerRegs.auditEvent) := audit.io.value
  registers.io.status(InnerRegs.auditSequence) := audit.io.sequence
  registers.io.status(InnerRegs.auditTimeLo) := audit.io.time(31, 0)
  registers.io.status(InnerRegs.auditTimeHi) := audit.io.time(63, 32)
  for ((register, n) <- DecryptAudit.words.zipWithIndex)
    registers.io.status(register) := (audit.io.packet >> (32 * n)).asUInt.pad(32)(31, 0)

  private val punt = encrypt.io.events.path.punt
  private val delivered = decrypt.io.events.punt
  private def refusedBehind(tunnel: Int, clear: Int): Bool = delivered.refused(tunnel) || delivered.refused(clear)
  private val inspected = decrypt.io.events.drops
  private val upsets = decrypt.io.events.upsets
  InterfaceRegisters.count(
    registers.io.increments,
    InnerCounters.all,
    PortCounts(
      io,
      encrypt.io.events.path,
      encrypt.io.events.drops,
      decrypt.io.events.transmit,
      decrypt.io.events.inject
    ),
    Map(
      InnerCounters.dropPolicyUpset -> encrypt.io.events.drops.policyUpset,
      InnerCounters.flowRowUpset -> encrypt.io.events.flowRowUpset,
      InnerCounters.policyRowUpset -> RegNext(encrypt.io.events.policyRowUpset || prefixes.io.policyRowUpset, false.B),
      InnerCounters.networkRowUpset -> encrypt.io.events.networkRowUpset,
      InnerCounters.ruleRowUpset -> encrypt.io.events.ruleRowUpset,
      InnerCounters.dropDscpSaUpset -> encrypt.io.events.dscpSaRowUpset,
      InnerCounters.dscpSaRowUpset -> encrypt.io.events.dscpSaRowUpset,
      InnerCounters.dummyRowUpset -> encrypt.io.events.dummyRowUpset,
      InnerCounters.selectorRowUpset -> decrypt.io.events.selectorRowUpset,
      InnerCounters.nextHopRowUpset -> decrypt.io.events.nextHopRowUpset,
      InnerCounters.dropInboundRuleUpset -> inspected.inboundRuleUpset,
      InnerCounters.inboundRuleRowUpset -> decrypt.io.events.ruleRowUpset,
      InnerCounters.injectPackets -> encrypt.io.events.inject.frames,
      InnerCounters.dropInjectClosed -> encrypt.io.events.inject.dropDisabled,
      InnerCounters.dropInjectSize -> encrypt.io.events.inject.dropLength,
      InnerCounters.dropInjectPunt -> encrypt.io.events.drops.injectPunt,
      InnerCounters.rxHairpin -> encrypt.io.events.hairpin.sent,
      InnerCounters.txHairpin -> encrypt.io.events.hairpin.sent,
      InnerCounters.dropPuntHairpin -> punt.refused(PuntGroup.hairpin),
      InnerCounters.dropHairpinClear -> encrypt.io.events.drops.hairpinClear,
      InnerCounters.dropHairpinClosed -> encrypt.io.events.hairpin.dropClosed,
      InnerCounters.dropHairpinOverflow -> encrypt.io.events.hairpin.dropOverflow,
      InnerCounters.dropLifetime -> encrypt.io.events.dropLifetime,
      InnerCounters.dropPuntMtu -> punt.refused(PuntGroup.mtu),
      InnerCounters.puntLocal -> punt.punted(PuntReason.local),
      InnerCounters.dropPuntLocal -> punt.refused(PuntGroup.local),
      InnerCounters.dropTtlExpired -> punt.refused(PuntGroup.ttl),
      InnerCounters.puntTtl -> punt.punted(PuntReason.ttl),
      InnerCounters.puntMtu -> punt.punted(PuntReason.mtu),
      InnerCounters.fragPackets -> encrypt.io.events.cut,
      InnerCounters.fragSplit -> encrypt.io.events.further,
      InnerCounters.txProtect -> encrypt.io.events.txProtect,
      InnerCounters.txBypass -> encrypt.io.events.txBypass,
      InnerCounters.dummyPackets -> encrypt.io.events.dummy,
      InnerCounters.txDummy -> encrypt.io.events.txDummy,
      InnerCounters.dropTxDisabled -> inspected.txDisabled,
      InnerCounters.dropNoSelector -> inspected.noSelector,
      InnerCounters.dropWindowUpset -> inspected.windowUpset,
      InnerCounters.windowTopRepaired -> upsets.topRepaired,
      InnerCounters.windowTopLost -> upsets.topLost,
      InnerCounters.windowRowFilled -> upsets.rowFilled,
      InnerCounters.controlRepaired -> registers.io.repaired,
      InnerCounters.dropReplayed -> inspected.replayed,
      InnerCounters.dropTooOld -> inspected.tooOld,
      InnerCounters.dropSelectorMismatch -> inspected.selectorMismatch,
      InnerCounters.dropInClearDenied -> inspected.inClearDenied,
      InnerCounters.dropInnerMalformed -> inspected.malformed,
      InnerCounters.dropInnerChecksum -> inspected.checksum,
      InnerCounters.dropInnerNotIp -> inspected.notIp,
      InnerCounters.dropInnerExtensionHeaders -> inspected.extensionHeaders,
      InnerCounters.dropInnerTtlExpired -> refusedBehind(PuntGroup.tunnelTtl, PuntGroup.clearTtl),
      InnerCounters.dropInnerMartian -> inspected.martian,
      InnerCounters.dropInnerOwnSource -> inspected.ownSource,
      InnerCounters.dropRedSource -> inspected.redSource,
      InnerCounters.dropFragmentOffset -> inspected.fragmentOffset,
      InnerCounters.dropInnerFragConflict -> inspected.fragmentConflict,
      InnerCounters.dropInnerFragFull -> RegNext(decrypt.io.events.dropWaiting, 0.U),
      InnerCounters.innerFragHeld -> RegNext(decrypt.io.events.held, 0.S).pad(CounterBank.incrementBits).asUInt,
      InnerCounters.dropEcn -> inspected.ecn,
      InnerCounters.ecnUnexpected -> decrypt.io.events.ecnUnexpected,
      InnerCounters.dropUnresolved -> refusedBehind(PuntGroup.tunnelHost, PuntGroup.clearHost),
      InnerCounters.dropHostUpset -> inspected.hostUpset,
      InnerCounters.hostRowUpset -> decrypt.io.events.hostRowUpset,
      InnerCounters.dropPrefixUpset -> inspected.prefixUpset,
      InnerCounters.prefixRowUpset -> RegNext(decrypt.io.events.groupRowUpset || prefixes.io.routeRowUpset, false.B),
      InnerCounters.dropNoNextHop -> refusedBehind(PuntGroup.tunnelRoute, PuntGroup.clearRoute),
      InnerCounters.dropInnerLifetime -> inspected.lifetime,
      InnerCounters.puntTunnel -> delivered.punted(PuntReason.tunnel),
      InnerCounters.puntClear -> delivered.punted(PuntReason.clear),
      InnerCounters.dropPuntTunnel -> delivered.refused(PuntGroup.tunnel),
      InnerCounters.dropPuntClear -> delivered.refused(PuntGroup.clear),
      InnerCounters.dropInnerPuntOverflow -> delivered.dropOverflow,
      InnerCounters.puntTunnelMtu -> delivered.punted(PuntReason.tunnelMtu),
      InnerCounters.puntClearMtu -> delivered.punted(PuntReason.clearMtu),
      InnerCounters.puntTunnelTtl -> delivered.punted(PuntReason.tunnelTtl),
      InnerCounters.puntClearTtl -> delivered.punted(PuntReason.clearTtl),
      InnerCounters.puntTunnelHost -> delivered.punted(PuntReason.tunnelHost),
      InnerCounters.puntClearHost -> delivered.punted(PuntReason.clearHost),
      InnerCounters.puntTunnelRoute -> delivered.punted(PuntReason.tunnelRoute),
      InnerCounters.puntClearRoute -> delivered.punted(PuntReason.clearRoute),
      InnerCounters.dropPuntRedMtu -> refusedBehind(PuntGroup.tunnelMtu, PuntGroup.clearMtu),
      InnerCounters.redFragPackets -> decrypt.io.events.cut,
      InnerCounters.redFragSplit -> decrypt.io.events.further
    )
  )
}

object InnerPaths {

  /** The address of HOST_EVENT, 32 bits each, from bit 0 on. */
  private val hostWords = Seq(InnerRegs.hostAddr0, InnerRegs.hostAddr1, InnerRegs.hostAddr2, InnerRegs.hostAddr3)

  /** Token buckets of [[InnerConfig.puntGroups]]. */
  private val puntLimits =
    Seq(
      InnerRegs.limitOther,
      InnerRegs.limitArp,
      InnerRegs.limitNd,
      InnerRegs.limitResolution,
      InnerRegs.limitLinkLocal,
      InnerRegs.limitMtu,
      InnerRegs.limitTtl,
      InnerRegs.limitLocal,
      InnerRegs.limitHairpin
    )

  /** Those of [[InnerConfig.decryptGroups]]. */
  private val decryptLimits =
    Seq(
      InnerRegs.limitTunnel,
      InnerRegs.limitClear,
      InnerRegs.limitTunnelMtu,
      InnerRegs.limitClearMtu,
      InnerRegs.limitTunnelTtl,
      InnerRegs.limitClearTtl,
      InnerRegs.limitTunnelHost,
      InnerRegs.limitClearHost,
      InnerRegs.limitTunnelRoute,
      InnerRegs.limitClearRoute
    )
}
