// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.registers.map.{Chip, CommonRegs, InnerCounters, InnerRegs, InnerTables, PuntGroup, PuntReason}
import sallyport.common.registers.{AuditEvents, AxiLite, CounterBank, RegisterBankParams}
import sallyport.common.stream.{MacBeat, NoMeta, PacketStream}
import sallyport.common.table.CuckooHash
import sallyport.iface.chip.InterfaceRegisters
import sallyport.iface.usage.LifetimeEvents

/**
 * The inner chip without its link: both paths, registers, counters and tables.
 *
 * `ready` rises when every table is clear; until then, and while CONTROL.rx_enable is 0, frames are
 * dropped as not ready, and no packet is taken from the link until `ready`. Each packet is counted
 * once as received, injected or made here, and once as sent, punted, merged or dropped by a name
 * (regs/inner.rdl): in any quiescent state the two are equal on each path.
 */
class InnerPaths(config: InnerConfig) extends Module {
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
    CommonRegs.capabilityFlowBits -> BigInt(config.flowBits),
    CommonRegs.capabilityWays -> BigInt(CuckooHash.ways),
    CommonRegs.capabilityRules -> BigInt(config.rules),
    CommonRegs.capabilityNextHops -> BigInt(config.nextHops),
    CommonRegs.capabilityLinkBufferBeats -> BigInt(config.linkBeats),
    CommonRegs.capabilityReplayWindow -> BigInt(ReplayWindow.size)
  )
  private val registers = Module(
    new InterfaceRegisters(
      RegisterBankParams(Chip.inner, config.version, InnerRegs.all, InnerCounters.all, build),
      InnerTables.all.length
    )
  )
  registers.io.axil <> io.axil

  private val encrypt = Module(new InnerEncrypt(config))
  private val decrypt = Module(new InnerDecrypt(config))
  private val ready = RegNext(encrypt.io.ready && decrypt.io.ready, false.B)
  private val linkUp = RegNext(io.linkUp, false.B)
  io.ready := ready
  registers.io.ready := ready
  registers.io.linkUp := linkUp
  registers.io.cycles := encrypt.io.cycles

  encrypt.io.enable := ready && registers.io.rxEnable
  encrypt.io.bump := registers.io.bump
  encrypt.io.macFilter := registers.io.macFilter
  encrypt.io.priorityDscps := registers.io.priorityDscps
  encrypt.io.portMac := registers.io.portMac
  encrypt.io.fragmentLimits.timeout := registers.io.control(InnerRegs.reasmTimeout)(14, 0)
  encrypt.io.fragmentLimits.perSource := registers.io.control(InnerRegs.reasmPerSource)(15, 0)
  encrypt.io.skip := registers.io.extensionSkip
  encrypt.io.puntLimits := VecInit(
    Seq(
      InnerRegs.limitOther,
      InnerRegs.limitArp,
      InnerRegs.limitNd,
      InnerRegs.limitMtu
    ).map(register => registers.tokenLimit(register))
  )
  encrypt.io.linkUp := linkUp
  encrypt.io.dummies := RegNext(ready && registers.io.rxEnable && linkUp, false.B)
  encrypt.io.mac := io.macRx
  io.toLink <> encrypt.io.out
  io.punt <> encrypt.io.punt
  encrypt.io.flowTable <> registers.io.table(InnerTables.flow)
  encrypt.io.ruleTable <> registers.io.table(InnerTables.rule)
  encrypt.io.dscpSaTable <> registers.io.table(InnerTables.dscpSa)
  encrypt.io.outboundUsageTable <> registers.io.table(InnerTables.outboundUsage)
  encrypt.io.policyUsageTable <> registers.io.table(InnerTables.policyUsage)
  encrypt.io.dummyTable <> registers.io.table(InnerTables.dummy)

  decrypt.io.enable := registers.io.txEnable
  decrypt.io.portMac := registers.io.portMac
  decrypt.io.skip := registers.io.extensionSkip
  decrypt.io.inject <> io.inject
  decrypt.io.injectLimit := registers.tokenLimit(InnerRegs.limitInject)
  decrypt.io.in <> io.fromLink
  io.macTx <> decrypt.io.mac
  decrypt.io.selectorTable <> registers.io.table(InnerTables.selector)
  decrypt.io.ruleTable <> registers.io.table(InnerTables.inboundRule)
  decrypt.io.nextHopTable <> registers.io.table(InnerTables.nextHop)
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

  private val rx = encrypt.io.events.path.receive
  private val reassembly = encrypt.io.events.path.reassembly
  private val punt = encrypt.io.events.path.punt
  private val judged = encrypt.io.events.drops
  private val inspected = decrypt.io.events.drops
  private val tx = decrypt.io.events.transmit
  private val inject = decrypt.io.events.inject
  InterfaceRegisters.count(
    registers.io.increments,
    InnerCounters.all,
    Map(
      InnerCounters.rxFrames -> rx.rxFrames,
      InnerCounters.rxBytes -> rx.rxBytes,
      InnerCounters.dropRxBadFcs -> rx.dropBadFcs,
      InnerCounters.dropRxUndersize -> rx.dropUndersize,
      InnerCounters.dropRxOversize -> rx.dropOversize,
      InnerCounters.dropRxOverflow -> rx.dropOverflow,
      InnerCounters.dropRxPriorityOverflow -> rx.dropPriorityOverflow,
      InnerCounters.rxPriority -> rx.priority,
      InnerCounters.dropNotReady -> rx.dropNotReady,
      InnerCounters.dropMacFilter -> judged.macFilter,
      InnerCounters.dropIpMalformed -> judged.ipMalformed,
      InnerCounters.dropIpChecksum -> judged.ipChecksum,
      InnerCounters.dropTtlExpired -> judged.ttlExpired,
      InnerCounters.dropPolicy -> judged.policy,
      InnerCounters.dropTransportHeader -> judged.transportHeader,
      InnerCounters.dropLinkDown -> judged.linkDown,
      InnerCounters.dropLifetime -> encrypt.io.events.dropLifetime,
      InnerCounters.dropPuntOverflow -> punt.dropOverflow,
      InnerCounters.puntArp -> punt.punted(PuntReason.arp),
      InnerCounters.puntNd -> punt.punted(PuntReason.nd),
      InnerCounters.dropPuntOther -> punt.refused(PuntGroup.other),
      InnerCounters.dropPuntArp -> punt.refused(PuntGroup.arp),
      InnerCounters.dropPuntNd -> punt.refused(PuntGroup.nd),
      InnerCounters.dropPuntMtu -> punt.refused(PuntGroup.mtu),
      InnerCounters.puntIpv6 -> punt.punted(PuntReason.ipv6),
      InnerCounters.puntVlan -> punt.punted(PuntReason.vlan),
      InnerCounters.puntFragment -> punt.punted(PuntReason.fragment),
      InnerCounters.puntOther -> punt.punted(PuntReason.other),
      InnerCounters.puntExtensionHeaders -> punt.punted(PuntReason.extensionHeaders),
      InnerCounters.puntPolicy -> punt.punted(PuntReason.policy),
      InnerCounters.puntMtu -> punt.punted(PuntReason.mtu),
      InnerCounters.fragPackets -> encrypt.io.events.cut,
      InnerCounters.fragSplit -> encrypt.io.events.further,
      InnerCounters.txProtect -> encrypt.io.events.txProtect,
      InnerCounters.txBypass -> encrypt.io.events.txBypass,
      InnerCounters.dummyPackets -> encrypt.io.events.dummy,
      InnerCounters.txDummy -> encrypt.io.events.txDummy,
      InnerCounters.dropReasmOverflow -> reassembly.dropOverflow,
      InnerCounters.dropReasmLength -> reassembly.dropLength,
      InnerCounters.dropReasmHeaders -> reassembly.dropHeaders,
      InnerCounters.dropReasmFull -> reassembly.dropFull,
      InnerCounters.dropReasmSource -> reassembly.dropSource,
      InnerCounters.dropReasmOversize -> reassembly.dropOversize,
      InnerCounters.dropReasmMemory -> reassembly.dropMemory,
      InnerCounters.dropReasmEnd -> reassembly.dropEnd,
      InnerCounters.dropReasmEcn -> reassembly.dropEcn,
      InnerCounters.dropReasmOverlap -> reassembly.dropOverlap,
      InnerCounters.dropReasmTimeout -> reassembly.dropTimeout,
      InnerCounters.reasmMerged -> reassembly.merged,
      InnerCounters.reasmDatagrams -> reassembly.reassembled,
      InnerCounters.linkRxPackets -> RegNext(io.fromLink.fire && io.fromLink.bits.last, false.B),
      InnerCounters.linkRxLost -> io.linkLost,
      InnerCounters.linkResyncs -> io.linkResync,
      InnerCounters.dropTxDisabled -> inspected.txDisabled,
      InnerCounters.dropNoSelector -> inspected.noSelector,
      InnerCounters.dropReplayed -> inspected.replayed,
      InnerCounters.dropTooOld -> inspected.tooOld,
      InnerCounters.dropSelectorMismatch -> inspected.selectorMismatch,
      InnerCounters.dropInnerMalformed -> inspected.malformed,
      InnerCounters.dropInnerChecksum -> inspected.checksum,
      InnerCounters.dropInnerNotIp -> inspected.notIp,
      InnerCounters.dropInnerExtensionHeaders -> inspected.extensionHeaders,
      InnerCounters.dropInnerTtlExpired -> inspected.ttlExpired,
      InnerCounters.dropFragmentOffset -> inspected.fragmentOffset,
      InnerCounters.dropEcn -> inspected.ecn,
      InnerCounters.ecnUnexpected -> decrypt.io.events.ecnUnexpected,
      InnerCounters.dropNoNextHop -> inspected.noNextHop,
      InnerCounters.dropInnerLifetime -> inspected.lifetime,
      InnerCounters.injectFrames -> inject.frames,
      InnerCounters.dropInjectDisabled -> inject.dropDisabled,
      InnerCounters.dropInjectLength -> inject.dropLength,
      InnerCounters.txFrames -> tx.txFrames,
      InnerCounters.txBytes -> tx.txBytes
    )
  )
}
