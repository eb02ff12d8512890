// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import sallyport.common.link.{Link, LinkParams}
import sallyport.iface.chip.InterfaceIO

/**
 * The inner chip: between the red network and the crypto chip (docs/reference/chip-ports.md).
 *
 * [[InnerPaths]] has the contract of the paths between its ports; [[Link]] has that of the link.
 * One clock, one synchronous reset.
 */
class InnerCore(config: InnerConfig) extends Module {
  override def desiredName = "InnerCore"

  val io = IO(new InterfaceIO(config.linkMessages))

  private val paths = Module(new InnerPaths(config))
  private val link =
    Module(new Link(LinkParams(withSequenceRx = true, bufferBeats = config.linkBeats, messages = config.linkMessages)))
  paths.io.macRx := io.macRx
  io.macTx <> paths.io.macTx
  io.punt <> paths.io.punt
  paths.io.inject <> io.inject
  paths.io.axil <> io.axil
  io.ready := paths.io.ready

  io.link <> link.io.port
  link.io.in <> paths.io.toLink
  for ((port, messages) <- io.messages.zip(link.io.messages)) port <> messages
  paths.io.fromLink <> link.io.out
  paths.io.linkUp := link.io.status.up
  paths.io.linkLost := link.io.status.lost
  paths.io.linkResync := link.io.status.resynced
  assert(!link.io.status.dropped, "a packet for the link was broken or too long")
}
