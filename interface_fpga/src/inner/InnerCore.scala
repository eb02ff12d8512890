package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._

/**
 * The inner chip: between the red network and the crypto chip (docs/interfaces.md, section 1).
 *
 * What goes on between its ports is [[InnerPaths]]'s contract; the link is [[Link]]'s. One clock, one synchronous reset.
 */
class InnerCore(config: InnerConfig) extends Module {
  override def desiredName = "InnerCore"

  val io = IO(new Bundle {
    val macRx = Flipped(Valid(new MacBeat))
    val macTx = Decoupled(new MacBeat)
    val link = new LinkPort
    val punt = PacketStream(new NoMeta)
    val inject = Flipped(PacketStream(new NoMeta))
    val axil = Flipped(new AxiLite)
    val ready = Output(Bool())
  })

  private val paths = Module(new InnerPaths(config))
  private val link = Module(new Link(LinkParams(withSequenceRx = true, bufferBeats = config.linkBeats)))
  paths.io.macRx := io.macRx
  io.macTx <> paths.io.macTx
  io.punt <> paths.io.punt
  paths.io.inject <> io.inject
  paths.io.axil <> io.axil
  io.ready := paths.io.ready

  io.link <> link.io.port
  link.io.in <> paths.io.toLink
  paths.io.fromLink <> link.io.out
  paths.io.linkUp := link.io.status.up
  paths.io.linkLost := link.io.status.lost
  paths.io.linkResync := link.io.status.resynced
  assert(!link.io.status.dropped, "a packet for the link was broken or too long")
}
