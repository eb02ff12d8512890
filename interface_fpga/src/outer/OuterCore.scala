// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import sallyport.common.link.{Link, LinkParams}
import sallyport.iface.chip.InterfaceIO

/**
 * The outer chip, between the crypto chip and the black network: [[OuterPaths]] behind a [[Link]].
 *
 * Encrypt: ESP packets from the link get an outer IPv4 header and leave at `macTx`. Decrypt: frames
 * from `macRx` are judged; ESP of a known SA and what a rule lets pass go to the link, frames for
 * the management CPU to `punt`, its own from `inject` to `macTx`, the rest nowhere and under a
 * named counter. `ready`: every table is clear.
 *
 * Never stalls `macRx`. Header work takes a packet every 2 cycles. Latency at 300 MHz on an idle
 * chip, from the last beat or word of a packet to the first: see docs/explanation/chips.md.
 */
class OuterCore(config: OuterConfig) extends Module {
  override def desiredName = "OuterCore"

  val io = IO(new InterfaceIO(config.linkMessages))

  private val link =
    Module(new Link(LinkParams(withSumRx = true, bufferBeats = config.linkBeats, messages = config.linkMessages)))
  private val paths = Module(new OuterPaths(config))
  io.link <> link.io.port
  link.io.in <> paths.io.toLink
  for ((port, messages) <- io.messages.zip(link.io.messages)) port <> messages
  paths.io.fromLink <> link.io.out
  paths.io.linkUp := link.io.status.up
  paths.io.linkLost := link.io.status.lost
  paths.io.linkResync := link.io.status.resynced
  assert(!link.io.status.dropped, "a packet for the link was broken or too long")

  paths.io.macRx := io.macRx
  io.macTx <> paths.io.macTx
  io.punt <> paths.io.punt
  paths.io.inject <> io.inject
  paths.io.axil <> io.axil
  io.ready := paths.io.ready
}
