// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.shell

import chisel3._
import sallyport.common.registers.map.Chip
import sallyport.crypto.chip.CryptoCore
import sallyport.crypto.config.CryptoConfig
import sallyport.iface.chip.InterfaceIO
import sallyport.iface.inner.{InnerConfig, InnerCore}
import sallyport.iface.outer.{OuterConfig, OuterCore}

/** Configurations of the three cores; a shell takes its chip's. */
case class Cores(inner: InnerConfig, crypto: CryptoConfig, outer: OuterConfig)

/** A chip but for IPs and pins: its core and, around that, its [[Fabric]]. */
class Shell(config: ShellConfig, cores: Cores) extends RawModule {
  override def desiredName = s"${config.name}Shell"

  val io = FlatIO(new ShellIO(config))
  private val fabric = Module(new Fabric(config))
  private val ports = fabric.core
  io :<>= fabric.io

  withClockAndReset(io.coreClock, ports.reset) {
    config.control.chip match {
      case Chip.inner => join(Module(new InnerCore(cores.inner)).io)
      case Chip.outer => join(Module(new OuterCore(cores.outer)).io)
      case Chip.crypto =>
        val core = Module(new CryptoCore(cores.crypto)).io
        core.linkRed <> ports.link(0)
        core.linkBlack <> ports.link(1)
        core.messagesRed.get <> ports.messages(0)
        core.messagesBlack.get <> ports.messages(1)
        core.axil <> ports.axil
        core.tamper := ports.tamper.get
        core.noise := ports.noise.get
        ports.ready := core.ready
        core.coreKhz := ports.coreKhz
    }
  }

  private def join(core: InterfaceIO): Unit = {
    core.link <> ports.link(0)
    core.messages.get <> ports.messages(0)
    core.axil <> ports.axil
    core.macRx := ports.macRx.get
    ports.macTx.get <> core.macTx
    ports.punt.get <> core.punt
    core.inject <> ports.inject.get
    ports.ready := core.ready
    core.coreKhz := ports.coreKhz
  }
}
