package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._
import sallyport.common.regs._

/** What the inner chip's link says of itself. */
class LinkEvents extends Bundle {

  /** Packets found to be lost on the link in this cycle, and times its receiver lost the framing. */
  val rxLost = UInt(CounterBank.incrementBits.W)
  val resync = Bool()
}

/**
 * The inner chip without its link: both paths, registers, counters and tables.
 *
 * `ready` rises when every table is clear; until then, and while CONTROL.rx_enable is 0, frames are dropped as not ready, and
 * no packet is taken from the link until `ready`. Each packet is counted once as received, and once as sent, punted or
 * dropped by a name (regs/inner.rdl): in any quiescent state the two are equal on each path.
 */
class InnerPaths(config: InnerConfig) extends Module {
  val io = IO(new Bundle {
    val macRx = Flipped(Valid(new MacBeat))
    val macTx = Decoupled(new MacBeat)
    val punt = PacketStream(new PuntMeta)
    val axil = Flipped(new AxiLite)
    val toLink = PacketStream(new LinkMeta)
    val fromLink = Flipped(PacketStream(new LinkMeta))
    val linkUp = Input(Bool())
    val linkEvents = Input(new LinkEvents)
    val ready = Output(Bool())
  })

  private val bank = Module(
    new RegisterBank(
      RegisterBankParams(
        Chip.inner,
        config.version,
        InnerRegs.all,
        InnerCounters.all,
        Map(
          CommonRegs.capabilitySaBits -> BigInt(config.saBits),
          CommonRegs.capabilityFlowBits -> BigInt(config.flowBits),
          CommonRegs.capabilityWays -> BigInt(CuckooHash.ways),
          CommonRegs.capabilityRules -> BigInt(config.rules),
          CommonRegs.capabilityNextHops -> BigInt(config.nextHops),
          CommonRegs.capabilityReplayWindow -> BigInt(ReplayWindow.size)
        )
      )
    )
  )
  bank.io.axil <> io.axil
  bank.io.clear := false.B
  private val control = RegNext(bank.io.control(InnerRegs.control))
  private val portMac = RegNext(
    Cat(bank.io.control(InnerRegs.portMacHi)(15, 0), bank.io.control(InnerRegs.portMacLo))
  )
  private val linkUp = RegNext(io.linkUp, false.B)

  private val encrypt = Module(new InnerEncrypt(config))
  private val decrypt = Module(new InnerDecrypt(config))
  private val ready = RegNext(encrypt.io.ready && decrypt.io.ready, false.B)
  io.ready := ready

  encrypt.io.enable := ready && InnerRegs.Control.rxEnable(control).asBool
  encrypt.io.macFilter := InnerRegs.Control.macFilter(control).asBool
  encrypt.io.portMac := portMac
  encrypt.io.linkUp := linkUp
  encrypt.io.mac := io.macRx
  io.toLink <> encrypt.io.out
  io.punt <> encrypt.io.punt

  decrypt.io.enable := InnerRegs.Control.txEnable(control).asBool
  decrypt.io.portMac := portMac
  decrypt.io.in <> io.fromLink
  io.macTx <> decrypt.io.mac

  private val tables = Module(new TableMux(InnerTables.all.length))
  tables.io.in <> bank.io.table
  encrypt.io.flowTable <> tables.io.out(InnerTables.flow)
  encrypt.io.ruleTable <> tables.io.out(InnerTables.rule)
  decrypt.io.selectorTable <> tables.io.out(InnerTables.selector)
  decrypt.io.nextHopTable <> tables.io.out(InnerTables.nextHop)

  bank.io.status(CommonRegs.status) :=
    (ready << CommonRegs.Status.ready.lsb).asUInt | (linkUp << CommonRegs.Status.linkUp.lsb).asUInt

  private val received = RegNext(io.fromLink.fire && io.fromLink.bits.last, false.B)
  private val rx = encrypt.io.events.receive
  private val judged = encrypt.io.events.drops
  private val punt = encrypt.io.events.punt
  private val inspected = decrypt.io.events.drops
  private val tx = decrypt.io.events.transmit
  private val increments: Map[Int, UInt] = Map(
    InnerCounters.rxFrames -> rx.rxFrames,
    InnerCounters.rxBytes -> rx.rxBytes,
    InnerCounters.dropRxBadFcs -> rx.dropBadFcs,
    InnerCounters.dropRxUndersize -> rx.dropUndersize,
    InnerCounters.dropRxOversize -> rx.dropOversize,
    InnerCounters.dropRxOverflow -> rx.dropOverflow,
    InnerCounters.dropNotReady -> rx.dropNotReady,
    InnerCounters.dropMacFilter -> judged.macFilter,
    InnerCounters.dropIpMalformed -> judged.ipMalformed,
    InnerCounters.dropIpChecksum -> judged.ipChecksum,
    InnerCounters.dropTtlExpired -> judged.ttlExpired,
    InnerCounters.dropPolicy -> judged.policy,
    InnerCounters.dropLinkDown -> judged.linkDown,
    InnerCounters.dropPuntOverflow -> punt.dropOverflow,
    InnerCounters.puntArp -> punt.punted(PuntReason.arp),
    InnerCounters.puntIpv6 -> punt.punted(PuntReason.ipv6),
    InnerCounters.puntVlan -> punt.punted(PuntReason.vlan),
    InnerCounters.puntFragment -> punt.punted(PuntReason.fragment),
    InnerCounters.puntOther -> punt.punted(PuntReason.other),
    InnerCounters.puntPolicy -> punt.punted(PuntReason.policy),
    InnerCounters.txProtect -> encrypt.io.events.txProtect,
    InnerCounters.txBypass -> encrypt.io.events.txBypass,
    InnerCounters.linkRxPackets -> received,
    InnerCounters.linkRxLost -> io.linkEvents.rxLost,
    InnerCounters.linkResyncs -> io.linkEvents.resync,
    InnerCounters.dropTxDisabled -> inspected.txDisabled,
    InnerCounters.dropNoSelector -> inspected.noSelector,
    InnerCounters.dropReplayed -> inspected.replayed,
    InnerCounters.dropTooOld -> inspected.tooOld,
    InnerCounters.dropSelectorMismatch -> inspected.selectorMismatch,
    InnerCounters.dropInnerMalformed -> inspected.malformed,
    InnerCounters.dropInnerChecksum -> inspected.checksum,
    InnerCounters.dropInnerNotIpv4 -> inspected.notIpv4,
    InnerCounters.dropInnerTtlExpired -> inspected.ttlExpired,
    InnerCounters.dropEcn -> inspected.ecn,
    InnerCounters.dropNoNextHop -> inspected.noNextHop,
    InnerCounters.txFrames -> tx.txFrames,
    InnerCounters.txBytes -> tx.txBytes
  )
  for (counter <- InnerCounters.all) {
    require(increments.contains(counter.index), s"nothing counts ${counter.name}")
    bank.io.increments(counter.index) := increments(counter.index)
  }
}
