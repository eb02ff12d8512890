// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import sallyport.boards.clocks.BitSynchronizer
import sallyport.boards.pcie.{PcieBridge, PciePort}
import sallyport.boards.registers.{CardMap, RegisterArbiter, RegisterCrossing}
import sallyport.common.registers.AxiLite
import sallyport.common.registers.map.{Chip, ShellRegs}
import sallyport.common.stream.{InjectMeta, NoMeta, PacketStream}

/**
 * @param chip value of [[sallyport.common.registers.map.Chip]]
 * @param board `id` of the board file
 * @param version `major.minor.patch`, the VERSION file's text
 * @param channels Aurora channels a link, 1 or 2
 * @param cages QSFP cages of the card, up to 4
 * @param buses I2C buses of the card, up to 4
 */
case class ControlPlaneParams(chip: Int, board: Int, version: String, channels: Int, cages: Int, buses: Int) {
  require(channels == 1 || channels == 2, s"$channels channels a link: 1 or 2")
  require(buses >= 1 && buses <= 4, s"$buses I2C buses: 1 to 4")
  require(cages >= 1 && cages <= 4, s"$cages QSFP cages: 1 to 4")

  /** The crypto chip stands between two links and has no MAC; the others have one of each. */
  val isCrypto: Boolean = chip == Chip.crypto
  val links: Int = if (isCrypto) 2 else 1
  val hasMac: Boolean = !isCrypto

  /** Registers of the shell, those that are repeated each by itself. */
  val registers = ShellRegs.all.flatMap(r => if (r.count == 1) Seq(r) else r.each)

  private val versionWord = version.split('.').foldLeft(BigInt(0))((word, part) => (word << 8) | part.toInt)
  val build = Map(
    ShellRegs.chip -> BigInt(chip),
    ShellRegs.version -> versionWord,
    ShellRegs.board -> BigInt(board),
    ShellRegs.parts -> (ShellRegs.Parts.links.put(links) | ShellRegs.Parts.channels.put(channels) |
      ShellRegs.Parts.cages.put(cages) | ShellRegs.Parts.mac.put(if (hasMac) 1 else 0))
  )
}

/**
 * The way of software to one card: PCIe, the core's and the shell's registers, and the tunnel to
 * the cards behind the links.
 *
 *                 250 MHz |  core clock, 300 MHz
 *     host ─ PcieBridge ─ RegisterCrossing ─ CardDecoder ─┬─ AxiLiteManager ─ core
 *                                                         ├─ ShellRegisters
 *                                                         └─ RegisterTunnelMaster
 *
 * [[ShellRegisters]] has status, pins, the mailbox and, in 125 MHz behind a RegisterCrossing, the
 * DrpManager. A crypto card has the RegisterTunnelMaster, which sends messages of a link.
 *
 * On an interface card there is no master; messages come to a [[RegisterTunnelTarget]], which
 * shares the decoder with the host of the card's own PCIe, if it has one, through a
 * [[RegisterArbiter]].
 *
 * All ports are in the core clock but `pcie`, pins, and the DRPs, which are in the control clock.
 * Each reset is synchronous to its clock. A PCIe reset ends no access half-way
 * ([[RegisterCrossing]]); it lasts for microseconds.
 */
class ControlPlane(p: ControlPlaneParams) extends RawModule {
  override def desiredName = "ControlPlane"

  val pcie = IO(new PciePort)
  val coreClock = IO(Input(Clock()))
  val coreReset = IO(Input(Bool()))

  /** 125 MHz, free-running. */
  val controlClock = IO(Input(Clock()))
  val controlReset = IO(Input(Bool()))

  /** The core's registers and its `ready`. */
  val axil = IO(new AxiLite)
  val ready = IO(Input(Bool()))

  /** Crypto chip: 0 to the inner chip, 1 to the outer chip. */
  val links = IO(Vec(p.links, new ControlLink(p.channels)))
  val mac = Option.when(p.hasMac)(IO(Input(new ControlMac)))
  val punt = Option.when(p.hasMac)(IO(Flipped(PacketStream(new NoMeta))))
  val inject = Option.when(p.hasMac)(IO(PacketStream(new InjectMeta)))

  /** Of the system monitor, and of cmac_gty_wrapper. */
  val monitorDrp = IO(new DrpPort(DrpPort.monitorBits))
  val macDrp = Option.when(p.hasMac)(IO(new DrpPort(DrpPort.macBits)))
  val cages = IO(Vec(p.cages, new CagePins))
  val i2c = IO(new I2cPins(p.buses))

  /** 1 is lit: LIGHTS in regs/shell.rdl. */
  val lights = IO(Output(UInt(3.W)))

  // From the host.
  private val bridge = withClockAndReset(pcie.clock, pcie.reset)(Module(new PcieBridge))
  bridge.io.cq <> pcie.cq
  pcie.cc <> bridge.io.cc
  private val fromHost = Module(new RegisterCrossing(CardMap.boxBits))
  fromHost.managerClock := pcie.clock
  fromHost.managerReset := pcie.reset
  fromHost.manager <> bridge.io.registers
  fromHost.targetClock := coreClock
  fromHost.targetReset := coreReset

  private val registers = withClockAndReset(coreClock, coreReset)(Module(new ShellRegisters(p)))
  withClockAndReset(coreClock, coreReset) {
    val decoder = Module(new CardDecoder(if (p.isCrypto) p.links else 0))
    val core = Module(new AxiLiteManager(CardMap.halfBits))
    core.io.port <> decoder.io.core
    axil <> core.io.axil
    registers.io.port <> decoder.io.shell
    registers.io.accessFailed := decoder.io.failed
    registers.io.refused := BitSynchronizer(bridge.io.refused)

    if (p.isCrypto) {
      decoder.io.in <> fromHost.target
      for (((link, port), n) <- links.zip(decoder.io.far).zipWithIndex) {
        val tunnel = Module(new RegisterTunnelMaster)
        tunnel.io.port <> port
        link.send <> tunnel.io.send
        tunnel.io.receive := link.receive
        registers.io.tunnels(n).open := tunnel.io.open
        registers.io.tunnels(n).retried := tunnel.io.retried
        registers.io.tunnels(n).timedOut := tunnel.io.timedOut
      }
    } else {
      val tunnel = Module(new RegisterTunnelTarget)
      val arbiter = Module(new RegisterArbiter(CardMap.boxBits))
      links.head.send <> tunnel.io.send
      tunnel.io.receive := links.head.receive
      decoder.io.in <> arbiter.io.target
      for ((manager, port) <- arbiter.io.managers.zip(Seq(fromHost.target, tunnel.io.port))) {
        // The tunnel's addresses are this card's.
        manager.request <> port.request
        port.response := manager.response
      }
    }

    registers.io.ready := ready
    for ((link, n) <- links.zipWithIndex) {
      registers.io.links(n).up := link.up
      registers.io.links(n).channels := link.channels
      registers.io.links(n).restarted := link.restarted
      link.restart := registers.io.links(n).restart
    }
    for ((from, to) <- mac.zip(registers.io.mac)) {
      to.rxStatus := BitSynchronizer(from.rxStatus)
      to.txReset := BitSynchronizer(from.txReset)
      to.rxReset := BitSynchronizer(from.rxReset)
      to.overflow := from.overflow
    }
    for ((pins, of) <- cages.zip(registers.io.cages)) {
      pins.modsell := of.modsell
      pins.resetl := of.resetl
      pins.lpmode := of.lpmode
      of.modprsl := BitSynchronizer(pins.modprsl)
      of.intl := BitSynchronizer(pins.intl)
    }
    i2c.muxResetN := registers.io.i2c.muxResetN
    for ((pins, of) <- i2c.buses.zip(registers.io.i2c.buses)) {
      pins.sclPullsLow := of.sclPullsLow
      pins.sdaPullsLow := of.sdaPullsLow
      of.scl := BitSynchronizer(pins.scl)
      of.sda := BitSynchronizer(pins.sda)
    }
    lights := registers.io.lights

    for ((stream, port) <- punt.zip(registers.io.punt)) port <> stream
    for ((stream, port) <- inject.zip(registers.io.inject)) stream <> port
  }

  // To the DRPs.
  private val toDrp = Module(new RegisterCrossing(DrpManager.addressBits))
  toDrp.managerClock := coreClock
  toDrp.managerReset := coreReset
  toDrp.manager <> registers.io.drp
  toDrp.targetClock := controlClock
  toDrp.targetReset := controlReset
  withClockAndReset(controlClock, controlReset) {
    val ports = monitorDrp +: macDrp.toSeq
    val manager = Module(new DrpManager(ports.map(_.addressBits), patience = 4096))
    manager.io.port <> toDrp.target
    for ((port, drp) <- ports.zip(manager.io.drp)) port <> drp
  }
}
