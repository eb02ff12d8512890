// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.shell

import chisel3._
import chisel3.util._
import sallyport.common.link.{LinkMessages, LinkPort}
import sallyport.common.registers.AxiLite
import sallyport.common.registers.map.CommonRegs
import sallyport.common.stream.{InjectMeta, MacBeat, NoMeta, PacketStream}

/**
 * The fabric's side of a core: what [[sallyport.iface.inner.InnerCore]], OuterCore and
 * [[sallyport.crypto.chip.CryptoCore]] have at their ports, under one set of names. All in the
 * core clock.
 *
 * @param links of the crypto chip two, red and black, of the others one
 */
class CorePorts(links: Int, hasMac: Boolean) extends Bundle {
  val reset = Output(Bool())
  val coreKhz = Output(UInt(CommonRegs.CapabilityCoreKhz.khz.width.W))
  val ready = Input(Bool())
  val link = Vec(links, Flipped(new LinkPort))

  /** Messages that the links carry beside packets. */
  val messages = Vec(links, Flipped(new LinkMessages))
  val axil = new AxiLite
  val macRx = Option.when(hasMac)(Valid(new MacBeat))
  val macTx = Option.when(hasMac)(Flipped(Decoupled(new MacBeat)))
  val punt = Option.when(hasMac)(Flipped(PacketStream(new NoMeta)))
  val inject = Option.when(hasMac)(PacketStream(new InjectMeta))
  val tamper = Option.when(!hasMac)(Output(Bool()))
  val noise = Option.when(!hasMac)(Output(Bool()))
}
