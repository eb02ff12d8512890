// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import sallyport.common.link.Link
import sallyport.iface.chip.{InterfaceIO, PathsIO}

/**
 * The inner chip: between the red network and the crypto chip (docs/reference/chip-ports.md).
 *
 * [[InnerPaths]] has the contract of the paths between its ports; [[Link]] has that of the link.
 * One clock, one synchronous reset.
 */
class InnerCore(config: InnerConfig) extends Module {
  override def desiredName = "InnerCore"

  val io = IO(new InterfaceIO(config.chip.linkMessages))

  private val paths = Module(new InnerPaths(config))
  private val link = Module(new Link(config.chip.link.copy(withSequenceRx = true)))
  PathsIO.connect(io, paths.io, link)
}
