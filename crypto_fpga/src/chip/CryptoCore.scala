// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import chisel3._
import chisel3.experimental.hierarchy.Instantiate
import sallyport.common.link.{Link, LinkMessages, LinkParams, LinkPort}
import sallyport.common.registers.AxiLite
import sallyport.common.registers.map.CommonRegs
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.lane.{Lane, LaneConfig, LaneModel, LanePorts, LaneWay}

/**
 * The crypto chip's core, between the inner (red) and the outer (black) chip
 * (docs/explanation/crypto-chip.md; ports: docs/reference/chip-ports.md).
 *
 * Guarantees, each held by structure and watched by assertions:
 *   - A packet leaves on the black link only if a lane made it under a key row of this chip, or if
 *     it arrived marked as bypass while CONTROL.bypass_encrypt was set, and CONTROL.bump if it is a
 *     whole frame. It keeps that mark.
 *   - A packet leaves on the red link only if its ICV is right, with its verified 64-bit sequence
 *     number, or if it arrived marked as bypass while CONTROL.bypass_decrypt was set, and
 *     CONTROL.bump if it is a whole frame. It keeps that mark.
 *   - No nonce is used twice under one key ([[sallyport.crypto.keys.SequenceAuthority]]).
 *   - Each direction keeps the order of its packets. Every packet is counted once, as sent or under
 *     the name of its drop.
 *
 * [[sallyport.crypto.path.EncryptPath]], [[sallyport.crypto.path.DecryptPath]] and
 * [[sallyport.common.link.Link]] state stalls and latency. The directions share no buffer.
 */
class CryptoCore(config: CryptoConfig) extends Module {
  override def desiredName = "CryptoCore"

  val io = IO(new Bundle {
    val linkRed = new LinkPort
    val linkBlack = new LinkPort
    val messagesRed = Option.when(config.linkMessages)(new LinkMessages)
    val messagesBlack = Option.when(config.linkMessages)(new LinkMessages)
    val axil = Flipped(new AxiLite)
    val tamper = Input(Bool())

    /** The board's noise chip; any clock's. */
    val noise = Input(Bool())
    val ready = Output(Bool())

    /** The core clock's frequency, for software: a constant. */
    val coreKhz = Input(UInt(CommonRegs.CapabilityCoreKhz.khz.width.W))
  })

  private val params = LinkParams(bufferBeats = config.linkBeats, messages = config.linkMessages)
  private val red = Module(new Link(params.copy(withSequenceTx = true)))
  private val black = Module(new Link(params))

  // Lanes of one kind are elaborated once, which is most of the chip.
  private def lane(of: LaneConfig): LanePorts =
    if (config.modelled) LaneWay(of, LaneModel(of))
    else {
      val far = Instantiate(new Lane(of))
      LaneWay(of, far.io)
    }
  private val engine = Module(new CryptoEngine(config, lane))

  red.io.port <> io.linkRed
  black.io.port <> io.linkBlack
  for ((port, messages) <- io.messagesRed.zip(red.io.messages)) port <> messages
  for ((port, messages) <- io.messagesBlack.zip(black.io.messages)) port <> messages
  engine.io.redRx <> red.io.out
  red.io.in <> engine.io.redTx
  engine.io.blackRx <> black.io.out
  black.io.in <> engine.io.blackTx
  for ((link, state) <- Seq(red -> engine.io.red, black -> engine.io.black)) {
    state.up := link.io.status.up
    state.lost := link.io.status.lost
    state.resync := link.io.status.resynced
    assert(!link.io.status.dropped, "a path sent what no link carries")
  }

  engine.io.axil <> io.axil
  engine.io.tamper := io.tamper
  engine.io.noise := io.noise
  engine.io.coreKhz := io.coreKhz
  io.ready := engine.io.ready
}
