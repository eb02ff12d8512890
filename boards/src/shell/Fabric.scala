// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.shell

import chisel3._
import chisel3.util.ShiftRegister
import sallyport.boards.aurora.AuroraLink
import sallyport.boards.clocks.{BitSynchronizer, ResetSynchronizer}
import sallyport.boards.control.ControlPlane
import sallyport.boards.mac.MacCrossing
import sallyport.common.crossing.SlrStage

/**
 * All of a chip that is neither its core nor an IP: crossings of links and MAC, control plane,
 * resets, slow pins.
 *
 * Everything is held in reset while `locked` is low, and the transceivers until the clock chips
 * beside the cages have settled. The core's part of a crossing stands behind [[SlrStage]]s.
 */
class Fabric(config: ShellConfig) extends RawModule {
  override def desiredName = s"${config.name}Fabric"

  val io = FlatIO(new ShellIO(config))
  val core = IO(new CorePorts(config.control.links, config.control.hasMac))

  // Resets.
  private val coreReset = ResetSynchronizer(io.coreClock, !io.locked)
  private val controlReset = ResetSynchronizer(io.controlClock, !io.locked)
  private val initReset = ResetSynchronizer(io.initClock, !io.locked)
  // Longer than the ways inside the core, whose stages have no reset.
  core.reset := withClockAndReset(io.coreClock, coreReset) {
    SlrStage.way(ShiftRegister(false.B, 2 * SlrStage.stages + 2, true.B, true.B))
  }
  private val cageClocks =
    withClockAndReset(io.initClock, initReset)(Module(new CageClocks(config.times.cageClockBits)))
  private val linkReset = withClock(io.initClock)(RegNext(initReset || !cageClocks.io.settled))

  private val control = Module(new ControlPlane(config.control))
  control.coreClock := io.coreClock
  control.coreReset := coreReset
  control.controlClock := io.controlClock
  control.controlReset := controlReset
  control.pcie <> io.pcie
  control.axil <> core.axil
  control.ready := core.ready

  withClockAndReset(io.coreClock, coreReset) {
    for (((port, messages), n) <- core.link.zip(core.messages).zipWithIndex) {
      val channels = config.control.channels
      val link = Module(new AuroraLink(config.link))
      link.io.initClock := io.initClock
      link.io.initReset := linkReset
      for (c <- 0 until channels) io.links(n * channels + c) <> link.io.ports(c)
      port <> link.io.link
      val told = control.links(n)
      told.up := port.up
      told.channels := link.io.status.channels
      told.restarted := link.io.status.restarted
      link.io.restart := told.restart
      messages.send <> told.send
      told.receive := messages.receive
    }

    for (port <- io.mac) {
      val mac = Module(new MacCrossing)
      mac.io.port <> port
      core.macRx.get := mac.io.rx
      mac.io.tx <> core.macTx.get
      val told = control.mac.get
      told.rxStatus := mac.io.status.rxUp
      told.overflow := mac.io.status.overflow
      told.txReset := mac.io.status.txReset
      told.rxReset := mac.io.status.rxReset
      control.punt.get <> core.punt.get
      core.inject.get <> control.inject.get
    }

    core.coreKhz := io.coreKhz
    for (tamper <- io.tamper) {
      val debouncer = Module(new Debouncer(config.times.tamperBits))
      debouncer.io.in := tamper
      core.tamper.get := debouncer.io.out
      core.noise.get := BitSynchronizer(io.noise.get)
    }
  }

  // DRPs, and the reset of the logic behind the MAC's.
  io.monitorDrp <> control.monitorDrp
  for (port <- io.macDrp) {
    port <> control.macDrp.get
    io.controlReset.get := withClockAndReset(io.controlClock, controlReset) {
      RegNext(!BitSynchronizer(cageClocks.io.settled), true.B)
    }
  }

  io.pins.cages <> control.cages
  io.pins.cageClockReset := cageClocks.io.clockReset
  io.pins.i2c <> control.i2c
  io.pins.led := control.lights
}
