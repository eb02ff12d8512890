// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.simulator.PeekPokeAPI
import chisel3.util._
import sallyport.common.link.{Link, LinkChannel, LinkMeta, LinkParams}
import sallyport.common.registers.map.{CommonRegs, CounterDesc, InnerCounters, InnerRegs}
import sallyport.common.registers.{AxiLite, AxiLiteDriver}
import sallyport.common.simulation.Exchange
import sallyport.common.stream.{InjectMeta, MacBeat, NoMeta, Packet, PacketStream}
import sallyport.iface.cpu.PuntedFrame

import scala.collection.mutable

/** A packet on the link, as the tests see it. */
case class LinkPacket(
    bytes: Seq[Byte],
    sa: Int,
    bypass: Boolean = false,
    tos: Int = 0,
    df: Boolean = false,
    nextHeader: Int = 4,
    sequence: BigInt = 0,
    moved: Boolean = false,
    peerTag: Int = 0,
    transport: Boolean = false
)

/** The inner chip's ports, with or without its link. */
class InnerPorts extends Bundle {
  val macRx = Flipped(Valid(new MacBeat))
  val macTx = Decoupled(new MacBeat)
  val punt = PacketStream(new NoMeta)
  val inject = Flipped(PacketStream(new InjectMeta))
  val axil = Flipped(new AxiLite)
  val toLink = PacketStream(new LinkMeta)
  val fromLink = Flipped(PacketStream(new LinkMeta))
  val linkUp = Input(Bool())
  val ready = Output(Bool())
}

/** A module to drive with [[InnerBench]]. */
abstract class InnerHarness extends Module {
  val io = IO(new InnerPorts)

  /** Which of the streams to the link, the MAC and the CPU move a beat. */
  val moves = IO(Output(Vec(3, Bool())))
  val moving = IO(Output(Bool()))
  moves := Seq(io.toLink, io.macTx, io.punt).map(_.fire)
  moving := moves.asUInt.orR
}

/**
 * [[InnerCore]] and a far link end behind two modelled channels of four lanes: 24.96 Gb/s a lane at
 * 300 MHz is 166 words of 512 bits in 256 cycles, and 41 cycles of latency.
 */
class InnerCoreHarness(config: InnerConfig) extends InnerHarness {
  private val core = Module(new InnerCore(config))
  private val far = Module(new Link(LinkParams(withSequenceTx = true, bufferBeats = config.chip.linkBeats)))
  core.io.macRx := io.macRx
  io.macTx <> core.io.macTx
  io.punt <> core.io.punt
  core.io.inject <> io.inject
  core.io.axil <> io.axil
  core.io.coreKhz := 300000.U
  io.ready := core.io.ready
  far.io.in <> io.fromLink
  io.toLink <> far.io.out
  for (((from, to), salt) <- Seq(core.io.link -> far.io.port, far.io.port -> core.io.link).zip(Seq(1, 2))) {
    val channel = Module(new LinkChannel(41, salt))
    channel.io.control.rate := 166.U
    channel.io.control.faults := 0.U
    channel.io.control.mixed := false.B
    channel.io.control.up := io.linkUp
    channel.io.control.seed := salt.U
    channel.io.in <> from.tx
    to.rx := channel.io.out
    to.up := io.linkUp
  }
}

/** Drives the inner chip and collects all that it sends. */
class InnerBench(dut: InnerHarness, config: InnerConfig) extends PeekPokeAPI {
  val bus = new AxiLiteDriver(dut.io.axil, dut.clock)
  val toLink: mutable.Buffer[LinkPacket] = mutable.Buffer.empty
  val frames: mutable.Buffer[Seq[Byte]] = mutable.Buffer.empty
  val punts: mutable.Buffer[(Int, Seq[Byte])] = mutable.Buffer.empty

  /** What else their headers say: SA, network, and whether the CPU or a tunnel had sent them. */
  val puntSas: mutable.Buffer[Int] = mutable.Buffer.empty
  val puntInjected: mutable.Buffer[Boolean] = mutable.Buffer.empty
  val puntNetworks: mutable.Buffer[Int] = mutable.Buffer.empty
  val puntHairpin: mutable.Buffer[Boolean] = mutable.Buffer.empty

  /** Cycles in which the first beats of packets left. */
  val linkStarts: mutable.Buffer[Int] = mutable.Buffer.empty
  val frameStarts: mutable.Buffer[Int] = mutable.Buffer.empty
  var cycle: Int = 0

  private val partial = Array.fill(3)(Vector.empty[Byte])

  private def collect(port: Int, data: UInt, bytes: UInt, last: Bool)(start: => Unit)(end: Seq[Byte] => Unit): Unit = {
    val Seq(word, count, ends) = Exchange.peek(data, bytes, last)
    if (partial(port).isEmpty) start
    partial(port) ++= Packet.bytesOf(word, count.toInt)
    if (ends == 1) {
      end(partial(port))
      partial(port) = Vector.empty
    }
  }

  private def collectPacket(bytes: Seq[Byte]): Unit = {
    val meta = dut.io.toLink.bits.meta
    val Seq(length, sa, bypass, tos, df, nextHeader) =
      Exchange.peek(meta.length, meta.sa, meta.bypass, meta.tos, meta.df, meta.nextHeader)
    assert(length == bytes.length)
    toLink += LinkPacket(bytes, sa.toInt, bypass == 1, tos.toInt, df == 1, nextHeader.toInt)
  }

  private def collectPunt(bytes: Seq[Byte]): Unit = {
    val punted = PuntedFrame(bytes)
    require(punted.port == 0, s"punted by port ${punted.port}")
    punts += punted.reason -> punted.frame
    puntSas += punted.sa
    puntInjected += punted.injected
    puntHairpin += punted.hairpin
    puntNetworks += punted.network
  }

  def step(): Unit = {
    val moves = Exchange.peek(dut.moves: _*).map(_ == 1)
    val (link, mac, punt) = (dut.io.toLink.bits, dut.io.macTx.bits, dut.io.punt.bits)
    if (moves(0)) collect(0, link.data, link.bytes, link.last)(linkStarts += cycle)(collectPacket)
    if (moves(1)) collect(1, mac.data, mac.bytes, mac.last)(frameStarts += cycle)(frames += _)
    if (moves(2)) collect(2, punt.data, punt.bytes, punt.last)(())(collectPunt)
    dut.clock.step()
    cycle += 1
  }

  def idle(cycles: Int): Unit = {
    val end = cycle + cycles
    while (cycle < end) {
      cycle += Exchange.stepUntil(dut.clock, dut.moving, end - cycle)
      if (cycle < end) step()
    }
  }

  /** After reset: tables clear, policy written, everything willing. */
  def start(setup: Boolean = true): Unit = {
    bus.idle()
    dut.io.macRx.valid.poke(false)
    dut.io.fromLink.valid.poke(false)
    dut.io.toLink.ready.poke(true)
    dut.io.macTx.ready.poke(true)
    dut.io.punt.ready.poke(true)
    dut.io.inject.valid.poke(false)
    dut.io.linkUp.poke(true)
    while (!dut.io.ready.peek().litToBoolean) dut.clock.step()
    while (CommonRegs.Status.linkUp(bus.read(CommonRegs.status)) == 0) dut.clock.step()
    if (setup) InnerSetup.write(bus, config)
  }

  /** Fragments that wait for their first one do so as long as a test takes. */
  def holdFragments(): Unit = bus.write(InnerRegs.reasmTimeout, (1 << 15) - 1)

  def receive(frame: Seq[Byte], fcsError: Boolean = false, gap: Int = 0): Unit = {
    val beats = frame.grouped(64).toSeq
    for ((beat, i) <- beats.zipWithIndex) {
      dut.io.macRx.valid.poke(true)
      dut.io.macRx.bits.data.poke(Packet.littleEndian(beat))
      dut.io.macRx.bits.bytes.poke(beat.length)
      dut.io.macRx.bits.last.poke(i == beats.length - 1)
      dut.io.macRx.bits.error.poke(fcsError && i == beats.length - 1)
      step()
    }
    dut.io.macRx.valid.poke(false)
    idle(gap)
  }

  /** A frame of the management CPU: as if from red, or for the port. */
  def inject(frame: Seq[Byte], encrypt: Boolean, error: Boolean = false): Unit = {
    val inject = dut.io.inject
    inject.bits.meta.encrypt.poke(encrypt)
    val beats = frame.grouped(64).toSeq
    for ((beat, i) <- beats.zipWithIndex) {
      inject.valid.poke(true)
      inject.bits.data.poke(Packet.littleEndian(beat))
      inject.bits.bytes.poke(beat.length)
      inject.bits.last.poke(i == beats.length - 1)
      inject.bits.error.poke(error && i == beats.length - 1)
      while (!inject.ready.peek().litToBoolean) step()
      step()
    }
    inject.valid.poke(false)
  }

  def fromLink(packet: LinkPacket): Unit = {
    val link = dut.io.fromLink
    val meta = link.bits.meta
    meta.length.poke(packet.bytes.length)
    meta.sa.poke(packet.sa)
    meta.bypass.poke(packet.bypass)
    meta.transport.poke(packet.transport)
    meta.tos.poke(packet.tos)
    meta.nextHeader.poke(packet.nextHeader)
    meta.sequence.poke(packet.sequence)
    meta.moved.poke(packet.moved)
    meta.peerTag.poke(packet.peerTag)
    val beats = packet.bytes.grouped(64).toSeq
    for ((beat, i) <- beats.zipWithIndex) {
      link.valid.poke(true)
      link.bits.data.poke(Packet.littleEndian(beat))
      link.bits.bytes.poke(beat.length)
      link.bits.last.poke(i == beats.length - 1)
      while (!link.ready.peek().litToBoolean) step()
      step()
    }
    link.valid.poke(false)
  }

  def counters(): Map[String, BigInt] = InnerCounters.all.map(c => c.name -> bus.counter(c.index)).toMap

  /**
   * received = sent + punted + drops + merged + held on each path, and the counters that changed
   * since `before`.
   */
  def balanced(before: Map[String, BigInt]): Map[String, BigInt] = {
    val now = counters()
    for (path <- Seq("encrypt", "decrypt")) {
      def sum(kinds: String*): BigInt =
        InnerCounters.all.filter(c => c.path == path && kinds.contains(c.kind)).map(c => now(c.name)).sum
      assert(sum(CounterDesc.arisen: _*) == sum(CounterDesc.accounted: _*), s"$path path: $now")
    }
    // Which frames are high is what PriorityClassSpec and MacReceiveSpec judge.
    now.map { case (name, value) => name -> (value - before(name)) }.filter(_._2 != 0) - "rx_priority"
  }
}
