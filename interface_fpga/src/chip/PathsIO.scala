// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.chip

import chisel3._
import chisel3.util._
import sallyport.common.link.{Link, LinkMeta}
import sallyport.common.registers.map.CommonRegs
import sallyport.common.registers.{AxiLite, CounterBank}
import sallyport.common.stream.{InjectMeta, MacBeat, NoMeta, PacketStream}

/** Ports of both paths of an interface chip, between its port and its link. */
class PathsIO extends Bundle {
  val macRx = Flipped(Valid(new MacBeat))
  val macTx = Decoupled(new MacBeat)

  /** Frames for the management CPU, each behind its punt header. */
  val punt = PacketStream(new NoMeta)

  /** Frames of the management CPU. */
  val inject = Flipped(PacketStream(new InjectMeta))
  val axil = Flipped(new AxiLite)
  val toLink = PacketStream(new LinkMeta)
  val fromLink = Flipped(PacketStream(new LinkMeta))
  val linkUp = Input(Bool())

  /** Packets found to be lost on the link in this cycle. */
  val linkLost = Input(UInt(CounterBank.incrementBits.W))

  /** The link's receiver lost the framing. */
  val linkResync = Input(Bool())

  /** The core clock's frequency, for software: a constant. */
  val coreKhz = Input(UInt(CommonRegs.CapabilityCoreKhz.khz.width.W))

  /** Every table is clear. */
  val ready = Output(Bool())
}

object PathsIO {

  /** Joins the paths of a chip to its link and its ports. */
  def connect(chip: InterfaceIO, paths: PathsIO, link: Link): Unit = {
    paths.macRx := chip.macRx
    chip.macTx <> paths.macTx
    chip.punt <> paths.punt
    paths.inject <> chip.inject
    paths.axil <> chip.axil
    chip.ready := paths.ready
    paths.coreKhz := chip.coreKhz

    chip.link <> link.io.port
    link.io.in <> paths.toLink
    for ((port, messages) <- chip.messages.zip(link.io.messages)) port <> messages
    paths.fromLink <> link.io.out
    paths.linkUp := link.io.status.up
    paths.linkLost := link.io.status.lost
    paths.linkResync := link.io.status.resynced
    assert(!link.io.status.dropped, "a packet for the link was broken or too long")
  }
}
