// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.shell

import chisel3._
import sallyport.boards.aurora.AuroraPort
import sallyport.boards.control.{CagePins, DrpPort, I2cPins}
import sallyport.boards.mac.CmacPort
import sallyport.boards.pcie.PciePort
import sallyport.common.registers.map.CommonRegs

/**
 * Ports of a shell: to IPs and pins of the top (boards/templates/top.sv.j2).
 *
 * The three clocks are the MMCM's and may be used once `locked` is high.
 */
class ShellIO(config: ShellConfig) extends Bundle {
  private val hasMac = config.control.hasMac

  /** 300 (250 for a first light), 125 and 50 MHz. */
  val coreClock = Input(Clock())
  val controlClock = Input(Clock())
  val initClock = Input(Clock())
  val locked = Input(Bool())

  /** The core clock's frequency, for software: a constant. */
  val coreKhz = Input(UInt(CommonRegs.CapabilityCoreKhz.khz.width.W))

  /** Channels of the first link, then of the second. */
  val links = Vec(config.control.links * config.control.channels, new AuroraPort)
  val mac = Option.when(hasMac)(new CmacPort)

  /** Of the MAC's transceivers, in the control clock. */
  val controlReset = Option.when(hasMac)(Output(Bool()))
  val macDrp = Option.when(hasMac)(new DrpPort(DrpPort.macBits))
  val monitorDrp = new DrpPort(DrpPort.monitorBits)
  val pcie = new PciePort
  val pins = new ShellPins(config)
  val tamper = Option.when(!hasMac)(Input(Bool()))
  val noise = Option.when(!hasMac)(Input(Bool()))
}

/** Slow pins without a clock. */
class ShellPins(config: ShellConfig) extends Bundle {
  val cages = Vec(config.control.cages, new CagePins)

  /** Reset of the clock chips beside the cages ([[CageClocks]]). */
  val cageClockReset = Output(Bool())
  val i2c = new I2cPins(config.control.buses)
  val led = Output(UInt(3.W))
}
