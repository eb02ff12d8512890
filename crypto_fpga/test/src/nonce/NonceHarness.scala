// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.nonce

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkChannel
import sallyport.common.registers.AxiLite
import sallyport.crypto.chip.{CryptoStreams, DuplexHarness, LinkedChip}
import sallyport.crypto.config.CryptoConfig

/**
 * A chip between two neighbours that send whatever they can: [[HostileSource]] on both sides, false
 * headers ([[HeaderForger]]) and damaged, lost and doubled words on both links to the chip. Packets
 * that leave on the black side wait in a ring to be read, and hold up the link when the ring
 * is full.
 */
class NonceHarness(config: CryptoConfig) extends Module {
  override def desiredName = "NonceHarness"

  val io = IO(new Bundle {
    val enable = Input(Bool())
    val faults = Input(UInt(32.W))
    val seed = Input(UInt(32.W))
    val sent = Output(UInt(32.W))
    val forged = Output(UInt(32.W))
    val damaged = Output(UInt(32.W))

    /**
     * Beats of the black side that have come, and that software has read; what beat number
     * `address` was.
     */
    val recorded = Output(UInt(32.W))
    val read = Input(UInt(32.W))
    val address = Input(UInt(32.W))
    val beat = Output(UInt(DuplexHarness.beatBits.W))
    val axil = Flipped(new AxiLite)
    val ready = Output(Bool())
  })

  private def source(spi: Option[Long], pause: Int, salt: Long): HostileSource = {
    val source = Module(new HostileSource(config.saBits, spi, pause, salt))
    source.io.enable := io.enable
    source.io.seed := io.seed
    source
  }
  private val inner = source(None, pause = 2, salt = 10)
  private val outer = source(Some(NonceHarness.inboundSpi), pause = 6, salt = 20)
  io.sent := inner.io.sent

  private val ring = Mem(NonceHarness.depth, UInt(DuplexHarness.beatBits.W))
  private val recorded = RegInit(0.U(32.W))
  private def at(n: UInt): UInt = n(log2Ceil(NonceHarness.depth) - 1, 0)
  io.recorded := recorded
  io.beat := ring.read(at(io.address))

  private val streams = Wire(new CryptoStreams)
  streams.axil <> io.axil
  streams.tamper := false.B
  io.ready := streams.ready
  streams.redRx <> inner.io.out
  streams.blackRx <> outer.io.out
  streams.redTx.ready := true.B
  streams.blackTx.ready := RegNext(recorded - io.read < (NonceHarness.depth - 2).U, false.B)
  when(streams.blackTx.fire) {
    ring.write(at(recorded), streams.blackTx.bits.asUInt)
    recorded := recorded + 1.U
  }

  private val forged, damaged = Wire(Vec(2, UInt(32.W)))
  private def hostile(index: Int): LinkedChip.Channel = from => {
    val forger = Module(new HeaderForger(30 + 10 * index))
    forger.io.enable := io.enable
    forger.io.seed := io.seed
    forger.io.in <> from
    val channel = Module(new LinkChannel(41, 50 + 10 * index))
    channel.io.control.rate := LinkedChip.rate.U
    channel.io.control.up := true.B
    channel.io.control.mixed := true.B
    channel.io.control.faults := Mux(io.enable, io.faults, 0.U)
    channel.io.control.seed := io.seed
    channel.io.in <> forger.io.out
    forged(index) := forger.io.forged
    damaged(index) := channel.io.faults
    channel.io.out
  }
  LinkedChip(config, hostile(0), hostile(1))(streams)
  io.forged := forged.reduce(_ + _)
  io.damaged := damaged.reduce(_ + _)
}

object NonceHarness {
  val depth: Int = 4096
  val inboundSpi: Long = 0xb1ac0000L
}
