// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import chisel3._
import chisel3.simulator.PeekPokeAPI
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.registers.AxiLite
import sallyport.common.stream.{Packet, PacketBeat, PacketStream}
import sallyport.crypto.dispatch.LinkMetaValue

/**
 * Ports of one direction of a [[DuplexHarness]]: a memory that is played, a memory
 * that records.
 */
class PlayPort extends Bundle {
  val load = Flipped(Valid(UInt(DuplexHarness.beatBits.W)))

  /** Beats to play; more may be allowed while it runs. */
  val limit = Input(UInt(16.W))

  /** Cycles from the start of a packet to the earliest start of the next. */
  val gap = Input(UInt(16.W))

  /** The recorder takes no beat. */
  val stall = Input(Bool())
  val played = Output(UInt(16.W))
  val recorded = Output(UInt(16.W))
  val address = Input(UInt(16.W))
  val beat = Output(UInt(DuplexHarness.beatBits.W))

  /** Cycle in which the recorded beat came, and in which the played one went. */
  val cameAt = Output(UInt(32.W))
  val wentAt = Output(UInt(32.W))
}

/** What a harness is built around: the streams of a crypto chip, as seen from both sides. */
class CryptoStreams extends Bundle {
  val redRx = Flipped(PacketStream(new LinkMeta))
  val redTx = PacketStream(new LinkMeta)
  val blackRx = Flipped(PacketStream(new LinkMeta))
  val blackTx = PacketStream(new LinkMeta)
  val axil = Flipped(new AxiLite)
  val tamper = Input(Bool())
  val ready = Output(Bool())
}

/**
 * A crypto chip between a player and a recorder on each side, all in hardware, so that software's
 * accesses go on under traffic.
 *
 * @param connect
 *   makes the chip and connects it
 */
class DuplexHarness(connect: CryptoStreams => Unit, depth: Int = 8192) extends Module {
  override def desiredName = "DuplexHarness"

  val io = IO(new Bundle {
    val encrypt = new PlayPort
    val decrypt = new PlayPort
    val axil = Flipped(new AxiLite)
    val tamper = Input(Bool())
    val ready = Output(Bool())
  })

  private val cycle = RegInit(0.U(32.W))
  cycle := cycle + 1.U

  private val chip = Wire(new CryptoStreams)
  chip.axil <> io.axil
  chip.tamper := io.tamper
  io.ready := chip.ready
  play(io.encrypt, chip.redRx, chip.blackTx)
  play(io.decrypt, chip.blackRx, chip.redTx)
  connect(chip)

  private def play(
      port: PlayPort,
      source: DecoupledIO[PacketBeat[LinkMeta]],
      sink: DecoupledIO[PacketBeat[LinkMeta]]
  ): Unit = {
    val inputs = Mem(depth, UInt(DuplexHarness.beatBits.W))
    val loaded = RegInit(0.U(16.W))
    when(port.load.valid) {
      inputs.write(loaded(log2Ceil(depth) - 1, 0), port.load.bits)
      loaded := loaded + 1.U
    }
    val index = RegInit(0.U(16.W))
    val first = RegInit(true.B)
    val wait = RegInit(0.U(16.W))
    val went = Mem(depth, UInt(32.W))
    val offered = RegInit(false.B)
    when(wait =/= 0.U) { wait := wait - 1.U }
    source.valid := (index < port.limit) && (!first || wait === 0.U)
    source.bits := inputs.read(index(log2Ceil(depth) - 1, 0)).asTypeOf(source.bits)
    // The time counts from the offer: waiting for the chip is latency too.
    when(source.valid && !offered) { went.write(index(log2Ceil(depth) - 1, 0), cycle) }
    offered := source.valid && !source.ready
    when(source.fire) {
      index := index + 1.U
      first := source.bits.last
      when(first && port.gap =/= 0.U) { wait := port.gap - 1.U }
    }
    port.played := index

    val outputs = Mem(depth, UInt(DuplexHarness.beatBits.W))
    val came = Mem(depth, UInt(32.W))
    val count = RegInit(0.U(16.W))
    sink.ready := RegNext(!port.stall, false.B)
    when(sink.fire) {
      outputs.write(count(log2Ceil(depth) - 1, 0), sink.bits.asUInt)
      came.write(count(log2Ceil(depth) - 1, 0), cycle)
      count := count + 1.U
    }
    port.recorded := count
    port.beat := outputs.read(port.address(log2Ceil(depth) - 1, 0))
    port.cameAt := came.read(port.address(log2Ceil(depth) - 1, 0))
    port.wentAt := went.read(port.address(log2Ceil(depth) - 1, 0))
  }
}

object DuplexHarness {
  val beatBits: Int = (new PacketBeat(new LinkMeta)).getWidth
}

/** A packet on a link, as Scala sees it. */
case class LinkPacket(bytes: Seq[Byte], meta: LinkMetaValue)

/** Drives one side of a [[DuplexHarness]]. */
class Player(port: PlayPort, clock: Clock, depth: Int = 8192) extends PeekPokeAPI {
  private var loaded = 0
  private var read = 0
  private var firstBeats = Vector.empty[Int]

  def idle(): Unit = {
    Seq(port.limit, port.gap, port.address).foreach(_.poke(0.U))
    port.load.valid.poke(false.B)
    port.stall.poke(false.B)
  }

  /** Hands packets to the player; with `hold` they are loaded and wait for `release`. */
  def send(packets: Seq[LinkPacket], gap: Int = 0, hold: Boolean = false): Unit = {
    port.load.valid.poke(true.B)
    for (packet <- packets) {
      firstBeats :+= loaded
      for (beat <- Packet.toBeats(Packet(packet.bytes, packet.meta.bits), LinkMetaValue.width)) {
        port.load.bits.poke(beat.U(DuplexHarness.beatBits.W))
        clock.step()
        loaded += 1
        require(loaded <= depth, "more beats than the player holds")
      }
    }
    port.load.valid.poke(false.B)
    port.gap.poke(gap.U)
    if (!hold) release()
  }
  def release(): Unit = port.limit.poke(loaded.U)

  /** The packets that came since the last call, with the cycle of each one's last beat. */
  def receiveTimed(): Seq[(LinkPacket, Int)] = {
    val until = port.recorded.peek().litValue.toInt
    val beats = (read until until).map { i =>
      port.address.poke(i.U)
      (port.beat.peek().litValue, port.cameAt.peek().litValue.toInt)
    }
    read = until
    val ends = beats.collect { case (beat, at) if (beat >> LinkMetaValue.width).testBit(8) => at }
    Packet.fromBeats(
      beats.map(_._1),
      LinkMetaValue.width
    ).map(p => LinkPacket(p.bytes, LinkMetaValue(p.meta))).zip(ends)
  }
  def receive(): Seq[LinkPacket] = receiveTimed().map(_._1)

  /** Cycle in which packet number `index`, of all ever sent, was first offered. */
  def offeredAt(index: Int): Int = {
    port.address.poke(firstBeats(index).U)
    port.wentAt.peek().litValue.toInt
  }
  def sentPackets: Int = firstBeats.length

  /** Runs until all is played and nothing has come for `quiet` cycles. */
  def settle(quiet: Int = 400, limit: Int = 100000): Unit = {
    var cycles = 0
    var last = -1
    def now = port.recorded.peek().litValue.toInt
    while (port.played.peek().litValue.toInt < loaded || now != last) {
      last = now
      clock.step(quiet)
      cycles += quiet
      require(cycles < limit, s"not settled after $cycles cycles")
    }
  }
}
