// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import chisel3._
import sallyport.common.clock.CycleCounter
import sallyport.common.link.LinkMeta
import sallyport.common.registers.map.{Chip, CommonRegs, CryptoCounters, CryptoRegs, CryptoTables}
import sallyport.common.registers.{AuditEvents, AxiLite, CounterBank, RegisterBank, RegisterBankParams}
import sallyport.common.stream.PacketStream
import sallyport.common.table.{TableMux, TablePort}
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.keys.Zeroizer
import sallyport.crypto.lane.{LaneConfig, LanePorts}
import sallyport.crypto.noise.NoiseSource
import sallyport.crypto.path.{DecryptPath, EncryptPath, PathClock, PathControl}
import sallyport.crypto.selftest.SelfTestSchedule

/** What a link tells the chip beside its packets. */
class LinkState extends Bundle {
  val up = Bool()

  /** Packets found lost in this cycle. */
  val lost = UInt(CounterBank.incrementBits.W)

  /** The receiver lost its framing. */
  val resync = Bool()
}

/**
 * The crypto chip between its two links: both paths, keys, registers, counters.
 *
 * Contracts: [[EncryptPath]], [[DecryptPath]], [[Zeroizer]], [[AuditEvents]], [[NoiseSource]];
 * registers and counters as regs/crypto.rdl has them. The paths share nothing but the registers and
 * the zeroizer, so neither can hold up the other.
 *
 * @param lane
 *   makes a lane and gives its ports
 */
class CryptoEngine(config: CryptoConfig, lane: LaneConfig => LanePorts) extends Module {
  val io = IO(new Bundle {
    val redRx = Flipped(PacketStream(new LinkMeta))
    val redTx = PacketStream(new LinkMeta)
    val red = Input(new LinkState)
    val blackRx = Flipped(PacketStream(new LinkMeta))
    val blackTx = PacketStream(new LinkMeta)
    val black = Input(new LinkState)
    val axil = Flipped(new AxiLite)
    val tamper = Input(Bool())
    val noise = Input(Bool())
    val ready = Output(Bool())
    val coreKhz = Input(UInt(CommonRegs.CapabilityCoreKhz.khz.width.W))
  })

  private val bank = Module(
    new RegisterBank(
      RegisterBankParams(Chip.crypto, config.version, CryptoRegs.all, CryptoCounters.all, config.build)
    )
  )
  private val tables = Module(new TableMux(CryptoTables.all.length))
  private val zeroizer = Module(new Zeroizer)
  private val events = Module(new SequenceEvents(config.saBits))
  private val encryptClock = Wire(Clock())
  private val decryptClock = Wire(Clock())
  private val encrypt = withClock(encryptClock)(Module(new EncryptPath(config, lane)))
  private val decrypt = withClock(decryptClock)(Module(new DecryptPath(config, lane)))

  encrypt.io.in <> io.redRx
  io.blackTx <> encrypt.io.out
  decrypt.io.in <> io.blackRx
  io.redTx <> decrypt.io.out

  bank.io.axil <> io.axil
  tables.io.in <> bank.io.table
  encrypt.io.table <> tables.io.out(CryptoTables.outboundKey)
  encrypt.io.numbers <> tables.io.out(CryptoTables.outboundNumber)
  decrypt.io.table <> tables.io.out(CryptoTables.inboundKey)
  decrypt.io.numbers <> tables.io.out(CryptoTables.inboundNumber)

  private val word = bank.io.control(CryptoRegs.control)
  private val fields = CryptoRegs.Control
  zeroizer.io.request := fields.zeroize(word)
  zeroizer.io.tamper := io.tamper
  zeroizer.io.tablesReady := encrypt.io.tableReady && decrypt.io.tableReady
  io.ready := !zeroizer.io.blocked && encrypt.io.test.started && decrypt.io.test.started
  bank.io.clear := zeroizer.io.clearSoftware

  private val schedule = Module(new SelfTestSchedule(config.lanes))
  schedule.io.command := CryptoRegs.SelfTestControl.run(bank.io.control(CryptoRegs.selfTestControl))
  schedule.io.period := bank.io.control(CryptoRegs.selfTestPeriod)
  schedule.io.encrypt := encrypt.io.test
  schedule.io.decrypt := decrypt.io.test
  bank.io.status(CryptoRegs.selfTestStatus) := schedule.io.status
  bank.io.status(CryptoRegs.selfTestFailed) := schedule.io.failed
  bank.io.status(CryptoRegs.selfTestCycles) := schedule.io.cycles

  for (
    (control, bypass) <- Seq(encrypt.io.control -> fields.bypassEncrypt, decrypt.io.control -> fields.bypassDecrypt)
  ) {
    control.enable := fields.enable(word)
    control.allowBypass := bypass(word)
    control.allowFrames := bypass(word).asBool && fields.bump(word).asBool
    control.blocked := zeroizer.io.blocked
    control.clearTables := zeroizer.io.clearTables
    control.zeroizeLanes := zeroizer.io.zeroizeLanes
    control.scrub := zeroizer.io.scrub
    control.runTest := schedule.io.run
  }

  private def clockOf(
      in: Bool,
      out: Bool,
      tables: Seq[TablePort],
      rests: Bool,
      control: PathControl,
      counts: Record
  ): Clock = {
    val (received, left) = counts.elements.toSeq.partition { case (name, _) => name == "received" }
    val stirs = in || out || tables.map(_.request.valid).reduce(_ || _) || !rests
    PathClock(received.head._2.asUInt, left.map(_._2.asUInt), stirs, control)
  }
  encryptClock := clockOf(
    encrypt.io.in.valid,
    encrypt.io.out.valid,
    Seq(encrypt.io.table, encrypt.io.numbers),
    encrypt.io.tableReady && !encrypt.io.test.running,
    encrypt.io.control,
    encrypt.io.counts
  )
  decryptClock := clockOf(
    decrypt.io.in.valid,
    decrypt.io.out.valid,
    Seq(decrypt.io.table, decrypt.io.numbers),
    decrypt.io.tableReady && !decrypt.io.test.running,
    decrypt.io.control,
    decrypt.io.counts
  )

  events.io.softLimit := encrypt.io.softLimit
  events.io.exhausted := encrypt.io.exhausted
  events.io.clear := fields.clearSequenceEvents(word)
  bank.io.status(CryptoRegs.sequenceEvents) := events.io.value

  private val cycles = Module(new CycleCounter)
  private val audit = Module(new AuditEvents)
  private val auditControl = bank.io.control(CryptoRegs.auditControl)
  audit.io.event := decrypt.io.audit
  audit.io.cycles := cycles.io.value
  audit.io.pop := CryptoRegs.AuditControl.pop(auditControl)
  audit.io.clearLost := CryptoRegs.AuditControl.clearLost(auditControl)
  bank.io.status(CryptoRegs.auditEvent) := audit.io.value
  bank.io.status(CryptoRegs.auditSequence) := audit.io.sequence
  bank.io.status(CryptoRegs.auditTimeLo) := audit.io.time(31, 0)
  bank.io.status(CryptoRegs.auditTimeHi) := audit.io.time(63, 32)
  bank.io.status(CommonRegs.cyclesLo) := cycles.io.value(31, 0)
  bank.io.status(CommonRegs.cyclesHi) := cycles.io.value(63, 32)

  private val noise = Module(new NoiseSource(config.noise))
  private val noiseControl = bank.io.control(CryptoRegs.noiseControl)
  noise.io.noise := io.noise
  noise.io.pop := CryptoRegs.NoiseControl.pop(noiseControl)
  noise.io.restart := CryptoRegs.NoiseControl.restart(noiseControl)
  noise.io.erase := zeroizer.io.clearTables
  bank.io.status(CryptoRegs.noiseStatus) := noise.io.status
  bank.io.status(CryptoRegs.noiseWord) := noise.io.word

  private val status = CommonRegs.Status
  bank.io.status(CommonRegs.capabilityCoreKhz) := io.coreKhz
  bank.io.status(CommonRegs.status) := (io.ready << status.ready.lsb) | (io.red.up << status.linkUp.lsb) |
    (io.black.up << status.blackLinkUp.lsb) | (zeroizer.io.tampered << status.tamper.lsb)

  private val increments = Map[Int, UInt](
    CryptoCounters.redRxPackets -> encrypt.io.counts.received,
    CryptoCounters.redRxLost -> io.red.lost,
    CryptoCounters.redResyncs -> io.red.resync,
    CryptoCounters.dropEncNotReady -> encrypt.io.counts.notReady,
    CryptoCounters.dropEncNoKey -> encrypt.io.counts.noKey,
    CryptoCounters.dropEncMode -> encrypt.io.counts.wrongMode,
    CryptoCounters.dropEncBypassDenied -> encrypt.io.counts.bypassDenied,
    CryptoCounters.dropEncSequenceExhausted -> encrypt.io.counts.exhausted,
    CryptoCounters.dropEncOversize -> encrypt.io.counts.oversize,
    CryptoCounters.dropEncUpset -> encrypt.io.counts.upset,
    CryptoCounters.dropEncSelfTest -> encrypt.io.counts.selfTest,
    CryptoCounters.encNumberRepaired -> encrypt.io.upsets.numberRepaired,
    CryptoCounters.encNumberLost -> encrypt.io.upsets.numberLost,
    CryptoCounters.encKeyRepaired -> encrypt.io.upsets.keyRepaired,
    CryptoCounters.encKeyLost -> encrypt.io.upsets.keyLost,
    CryptoCounters.blackTxPackets -> encrypt.io.counts.sent,
    CryptoCounters.blackRxPackets -> decrypt.io.counts.received,
    CryptoCounters.blackRxLost -> io.black.lost,
    CryptoCounters.blackResyncs -> io.black.resync,
    CryptoCounters.dropDecNotReady -> decrypt.io.counts.notReady,
    CryptoCounters.dropDecNoKey -> decrypt.io.counts.noKey,
    CryptoCounters.dropDecMode -> decrypt.io.counts.wrongMode,
    CryptoCounters.dropDecBypassDenied -> decrypt.io.counts.bypassDenied,
    CryptoCounters.dropDecUpset -> decrypt.io.counts.upset,
    CryptoCounters.dropDecTruncated -> decrypt.io.counts.truncated,
    CryptoCounters.dropDecIcv -> decrypt.io.counts.icv,
    CryptoCounters.dropDecPadding -> decrypt.io.counts.padding,
    CryptoCounters.dropDecDummy -> decrypt.io.counts.dummy,
    CryptoCounters.dropDecSelfTest -> decrypt.io.counts.selfTest,
    CryptoCounters.redTxPackets -> decrypt.io.counts.sent,
    CryptoCounters.controlRepaired -> bank.io.repaired
  )
  for (counter <- CryptoCounters.all) {
    require(increments.contains(counter.index), s"nothing counts ${counter.name}")
    bank.io.increments(counter.index) := RegNext(increments(counter.index), 0.U)
  }
}
