// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import sallyport.boards.aurora.AuroraChannelStatus
import sallyport.boards.registers.{CardMap, RegisterPort}
import sallyport.common.registers.map.{RegisterDesc, ShellRegs}
import sallyport.common.stream.{InjectMeta, NoMeta, PacketStream}

/** What a [[RegisterTunnelMaster]] tells of itself. */
class TunnelStatus extends Bundle {
  val open = Bool()
  val retried = Bool()
  val timedOut = Bool()
}

/**
 * The shell's registers (regs/shell.rdl) with the logic behind them: counters of events, pins,
 * lights, DRP window and frame mailbox. All in the core clock; counters wrap.
 *
 * See [[RegisterFile]] for the timing of an access.
 */
class ShellRegisters(p: ControlPlaneParams) extends Module {
  val io = IO(new Bundle {
    val port = Flipped(new RegisterPort(CardMap.halfBits))
    val ready = Input(Bool())
    val links = Vec(
      p.links,
      new Bundle {
        val up = Input(Bool())
        val channels = Input(Vec(p.channels, new AuroraChannelStatus))
        val restarted = Input(Bool())
        val restart = Output(Bool())
      }
    )
    val tunnels = Input(Vec(if (p.isCrypto) p.links else 0, new TunnelStatus))

    /** An access has answered an error. */
    val accessFailed = Input(Bool())

    /** Changes with each request that [[PcieBridge]] refused. */
    val refused = Input(Bool())
    val mac = Option.when(p.hasMac)(Input(new ControlMac))
    val punt = Option.when(p.hasMac)(Flipped(PacketStream(new NoMeta)))
    val inject = Option.when(p.hasMac)(PacketStream(new InjectMeta))
    val cages = Vec(p.cages, new CagePins)
    val i2c = new I2cPins(p.buses)
    val lights = Output(UInt(3.W))
    val drp = new RegisterPort(DrpManager.addressBits)
  })

  private val file = Module(new RegisterFile(CardMap.halfBits, p.registers, p.build))
  private val control = file.io.control
  private val status = file.io.status
  file.io.port <> io.port

  /** Times that `event` is high, modulo 2^width. */
  private def count(event: Bool, width: Int): UInt = {
    val counter = RegInit(0.U(width.W))
    when(RegNext(event, false.B)) { counter := counter + 1.U }
    counter
  }
  private def byte(levels: Seq[Bool]): UInt = VecInit(levels.padTo(8, false.B)).asUInt
  // What a chip does not have reads 0.
  for (register <- status.elements.values) register := 0.U

  status(ShellRegs.coreState) := io.ready
  status(ShellRegs.linkState) := VecInit(io.links.map(_.up)).asUInt
  for ((link, n) <- io.links.zipWithIndex) {
    link.restart := control(ShellRegs.linkControl)(n)
    for ((channel, c) <- link.channels.zipWithIndex) {
      def of(register: RegisterDesc): RegisterDesc = register.each(n * p.channels + c)
      status(of(ShellRegs.channelState)) := channel.trained ## channel.channelUp
      status(of(ShellRegs.channelErrors)) := count(channel.hardError, 16) ## count(channel.softError, 16)
      status(of(ShellRegs.channelEvents)) := count(link.restarted, 16) ## count(channel.overflow, 16)
    }
  }
  for ((tunnel, n) <- io.tunnels.zipWithIndex)
    status(ShellRegs.tunnelState.each(n)) := tunnel.open ## count(tunnel.timedOut, 15) ## count(tunnel.retried, 16)

  status(ShellRegs.accessErrors) := count(io.accessFailed, 32)
  status(ShellRegs.pcieRefused) := count(io.refused =/= RegNext(io.refused, false.B), 32)

  for (mac <- io.mac) {
    status(ShellRegs.macState) := mac.rxReset ## mac.txReset ## mac.rxStatus
    status(ShellRegs.macOverflow) := count(mac.overflow, 32)
  }

  private val cageControl = control(ShellRegs.qsfpControl)
  for ((cage, n) <- io.cages.zipWithIndex) {
    cage.modsell := ShellRegs.QsfpControl.modsell(cageControl)(n)
    cage.resetl := ShellRegs.QsfpControl.resetl(cageControl)(n)
    cage.lpmode := ShellRegs.QsfpControl.lpmode(cageControl)(n)
  }
  status(ShellRegs.qsfpState) := byte(io.cages.map(_.intl)) ## byte(io.cages.map(_.modprsl))

  private val i2cControl = control(ShellRegs.i2cControl)
  for ((bus, n) <- io.i2c.buses.zipWithIndex) {
    bus.sclPullsLow := !ShellRegs.I2cControl.scl(i2cControl)(n)
    bus.sdaPullsLow := !ShellRegs.I2cControl.sda(i2cControl)(n)
  }
  io.i2c.muxResetN := ShellRegs.I2cControl.muxResetN(i2cControl)
  status(ShellRegs.i2cState) := byte(io.i2c.buses.map(_.sda)) ## byte(io.i2c.buses.map(_.scl))

  // 2.2 blinks a second.
  private val blink = RegInit(0.U(27.W))
  blink := blink + 1.U
  private val second = io.mac.fold(io.links.last.up)(_.rxStatus)
  private val own = (io.ready || blink.head(1).asBool) ## second ## io.links.map(_.up).reduce(_ && _)
  private val forced = ShellRegs.Lights.forced(control(ShellRegs.lights))
  io.lights := RegNext((own & ~forced) | (ShellRegs.Lights.lit(control(ShellRegs.lights)) & forced), 0.U)

  private val drp = Module(new DrpWindow)
  drp.io.select := control(ShellRegs.drpSelect)
  drp.io.data := control(ShellRegs.drpData)
  drp.io.command := control(ShellRegs.drpCommand)
  status(ShellRegs.drpState) := drp.io.state
  io.drp <> drp.io.port

  for ((punt, inject) <- io.punt.zip(io.inject)) {
    val mailbox = Module(new FrameMailbox)
    mailbox.io.punt <> punt
    inject <> mailbox.io.inject
    mailbox.io.puntTaken := file.io.read(ShellRegs.puntData)
    mailbox.io.puntControl := control(ShellRegs.puntControl)
    mailbox.io.injectLength.valid := file.io.written(ShellRegs.injectLength)
    mailbox.io.injectLength.bits := control(ShellRegs.injectLength)
    mailbox.io.injectData.valid := file.io.written(ShellRegs.injectData)
    mailbox.io.injectData.bits := control(ShellRegs.injectData)
    mailbox.io.injectControl := control(ShellRegs.injectControl)
    status(ShellRegs.puntState) := mailbox.io.puntState
    status(ShellRegs.puntData) := mailbox.io.puntData
    status(ShellRegs.injectState) := mailbox.io.injectState
  }
}
