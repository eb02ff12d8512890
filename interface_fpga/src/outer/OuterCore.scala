// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import sallyport.common.link.Link
import sallyport.iface.chip.{InterfaceIO, PathsIO}

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

  val io = IO(new InterfaceIO(config.chip.linkMessages))

  private val paths = Module(new OuterPaths(config))
  private val link = Module(new Link(config.chip.link.copy(withSumRx = true)))
  PathsIO.connect(io, paths.io, link)
}
