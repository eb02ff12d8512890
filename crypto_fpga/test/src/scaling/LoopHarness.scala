// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.scaling

import chisel3._
import chisel3.simulator.PeekPokeAPI
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.registers.AxiLite
import sallyport.common.stream.{Packet, PacketBeat}
import sallyport.crypto.chip.{CryptoStreams, DuplexHarness, LinkPacket}
import sallyport.crypto.dispatch.LinkMetaValue

/** Ports of one direction of a [[LoopHarness]]. */
class LoopPort extends Bundle {

  /** Beats of whole packets, put one behind the other. */
  val load = Flipped(Valid(UInt(DuplexHarness.beatBits.W)))
  val run = Input(Bool())

  /** Packets that have come out, since reset. */
  val packets = Output(UInt(32.W))
}

/**
 * A chip that is sent the same few packets again and again from both sides, as fast as it takes
 * them, and whose output is counted.
 */
class LoopHarness(connect: CryptoStreams => Unit) extends Module {
  override def desiredName = "LoopHarness"

  val io = IO(new Bundle {
    val encrypt = new LoopPort
    val decrypt = new LoopPort
    val axil = Flipped(new AxiLite)
    val ready = Output(Bool())
  })

  private val chip = Wire(new CryptoStreams)
  chip.axil <> io.axil
  chip.tamper := false.B
  io.ready := chip.ready
  play(io.encrypt, chip.redRx, chip.blackTx)
  play(io.decrypt, chip.blackRx, chip.redTx)
  connect(chip)

  private def play(
      port: LoopPort,
      source: DecoupledIO[PacketBeat[LinkMeta]],
      sink: DecoupledIO[PacketBeat[LinkMeta]]
  ): Unit = {
    val ring = Mem(LoopHarness.depth, UInt(DuplexHarness.beatBits.W))
    val loaded = RegInit(0.U(log2Ceil(LoopHarness.depth + 1).W))
    when(port.load.valid) {
      ring.write(loaded(log2Ceil(LoopHarness.depth) - 1, 0), port.load.bits)
      loaded := loaded + 1.U
    }
    val index = RegInit(0.U(log2Ceil(LoopHarness.depth).W))
    source.valid := port.run
    source.bits := ring.read(index).asTypeOf(source.bits)
    when(source.fire) { index := Mux(index +& 1.U === loaded, 0.U, index + 1.U) }

    val packets = RegInit(0.U(32.W))
    sink.ready := true.B
    when(sink.fire && sink.bits.last) { packets := packets + 1.U }
    port.packets := packets
  }
}

object LoopHarness {

  /** Beats of a loop: four packets of 9600 bytes and some. */
  val depth: Int = 1024
}

/** Drives one direction of a [[LoopHarness]]. */
class LoopPlayer(port: LoopPort, clock: Clock) extends PeekPokeAPI {
  def idle(): Unit = {
    port.run.poke(false.B)
    port.load.valid.poke(false.B)
  }
  def load(packets: Seq[LinkPacket]): Unit = {
    val beats = packets.flatMap(p => Packet.toBeats(Packet(p.bytes, p.meta.bits), LinkMetaValue.width))
    require(beats.length <= LoopHarness.depth, s"a loop holds ${LoopHarness.depth} beats, not ${beats.length}")
    port.load.valid.poke(true.B)
    for (beat <- beats) {
      port.load.bits.poke(beat.U(DuplexHarness.beatBits.W))
      clock.step()
    }
    port.load.valid.poke(false.B)
  }
  def run(): Unit = port.run.poke(true.B)
  def packets: Long = port.packets.peek().litValue.toLong
}
