// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.chip

import chisel3._
import chisel3.util._
import sallyport.common.link.{LinkMessages, LinkPort}
import sallyport.common.registers.AxiLite
import sallyport.common.registers.map.CommonRegs
import sallyport.common.stream.{InjectMeta, MacBeat, NoMeta, PacketStream}

/**
 * Ports of an interface chip's core (docs/reference/chip-ports.md); `linkMessages`: the link
 * carries messages beside packets.
 */
class InterfaceIO(linkMessages: Boolean) extends Bundle {
  val macRx = Flipped(Valid(new MacBeat))
  val macTx = Decoupled(new MacBeat)
  val link = new LinkPort

  /** Frames for the management CPU, each behind its punt header, and its own. */
  val punt = PacketStream(new NoMeta)
  val inject = Flipped(PacketStream(new InjectMeta))
  val axil = Flipped(new AxiLite)
  val messages = Option.when(linkMessages)(new LinkMessages)
  val ready = Output(Bool())

  /** The core clock's frequency, for software: a constant. */
  val coreKhz = Input(UInt(CommonRegs.CapabilityCoreKhz.khz.width.W))
}
