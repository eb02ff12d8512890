// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.erase

import chisel3._
import chisel3.util._
import sallyport.common.registers.AxiLite
import sallyport.common.stream.PacketBeat
import sallyport.common.link.LinkMeta
import sallyport.crypto.chip.{CryptoEngine, DuplexHarness, LinkState}
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.lane.{Lane, LaneWay}

/**
 * A crypto chip with real lanes and without its links, which no key reaches. Beats come in as
 * numbers, and packets that leave are counted.
 */
class EraseHarness(config: CryptoConfig) extends Module {
  override def desiredName = "EraseHarness"

  val io = IO(new Bundle {
    val red = Flipped(Decoupled(UInt(DuplexHarness.beatBits.W)))
    val black = Flipped(Decoupled(UInt(DuplexHarness.beatBits.W)))

    /** The last beat of a packet leaves, to the red and to the black side. */
    val sentRed = Output(Bool())
    val sentBlack = Output(Bool())
    val axil = Flipped(new AxiLite)
    val tamper = Input(Bool())
    val ready = Output(Bool())
  })

  private val engine = Module(new CryptoEngine(config, of => LaneWay(of, Module(new Lane(of)).io)))
  for ((in, beats) <- Seq(engine.io.redRx -> io.red, engine.io.blackRx -> io.black)) {
    in.valid := beats.valid
    in.bits := beats.bits.asTypeOf(new PacketBeat(new LinkMeta))
    beats.ready := in.ready
  }
  for ((out, sent) <- Seq(engine.io.redTx -> io.sentRed, engine.io.blackTx -> io.sentBlack)) {
    out.ready := true.B
    sent := out.valid && out.bits.last
  }
  engine.io.red := 0.U.asTypeOf(new LinkState)
  engine.io.black := 0.U.asTypeOf(new LinkState)
  engine.io.axil <> io.axil
  engine.io.tamper := io.tamper
  engine.io.noise := false.B
  engine.io.coreKhz := 300000.U
  io.ready := engine.io.ready
}
