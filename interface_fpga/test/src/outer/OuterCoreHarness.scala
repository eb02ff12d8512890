// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.simulator.PeekPokeAPI
import chisel3.util._
import sallyport.common.link.{Link, LinkChannel, LinkFrame, LinkMeta, LinkParams}
import sallyport.common.registers.map.{CommonRegs, CounterDesc, OuterCounters}
import sallyport.common.registers.{AxiLite, AxiLiteDriver}
import sallyport.common.stream.{InjectMeta, MacBeat, NoMeta, Packet, PacketStream}

import scala.collection.mutable

/** [[OuterCore]] with the crypto chip's end of its link behind a model of four Aurora lanes. */
class OuterCoreHarness(config: OuterConfig) extends Module {
  private val core = Module(new OuterCore(config))
  private val far = Module(new Link(LinkParams(bufferBeats = config.chip.linkBeats)))

  val io = IO(new Bundle {
    val macRx = Flipped(Valid(new MacBeat))
    val macTx = Decoupled(new MacBeat)
    val punt = PacketStream(new NoMeta)
    val inject = Flipped(PacketStream(new InjectMeta))
    val axil = Flipped(new AxiLite)
    val ready = Output(Bool())
    val laneUp = Input(Bool())

    /** To and from the crypto chip. */
    val fromCrypto = Flipped(PacketStream(new LinkMeta))
    val toCrypto = PacketStream(new LinkMeta)

    /** A word that is not idle leaves or enters the chip. */
    val wordOut = Output(Bool())
    val wordIn = Output(Bool())
  })

  core.io.macRx := io.macRx
  io.macTx <> core.io.macTx
  io.punt <> core.io.punt
  core.io.inject <> io.inject
  core.io.axil <> io.axil
  core.io.coreKhz := 300000.U
  io.ready := core.io.ready
  far.io.in <> io.fromCrypto
  io.toCrypto <> far.io.out

  for ((from, to) <- Seq((core.io.link, far.io.port), (far.io.port, core.io.link))) {
    val channel = Module(new LinkChannel(41, 0))
    channel.io.control := 0.U.asTypeOf(channel.io.control)
    channel.io.control.rate := 166.U
    channel.io.control.up := io.laneUp
    channel.io.in <> from.tx
    to.rx := channel.io.out
    to.up := io.laneUp
  }

  /** The first header in the word is a packet's. */
  private def startsPacket(word: UInt): Bool = word(3, 0) === LinkFrame.packet.U
  io.wordOut := core.io.link.tx.fire && startsPacket(core.io.link.tx.bits)
  io.wordIn := core.io.link.rx.valid && startsPacket(core.io.link.rx.bits)
}

/** Drives an [[OuterCoreHarness]] and collects all that it sends. */
class OuterCoreBench(dut: OuterCoreHarness) extends PeekPokeAPI {
  val bus = new AxiLiteDriver(dut.io.axil, dut.clock)
  val linked: mutable.Buffer[Outcome.Link] = mutable.Buffer.empty

  /** Of each of those that is not from its SA's peer the place that it names. */
  val places: mutable.Buffer[Option[Int]] = mutable.Buffer.empty
  val punted: mutable.Buffer[Outcome.Punt] = mutable.Buffer.empty
  val frames: mutable.Buffer[Seq[Byte]] = mutable.Buffer.empty

  /** Cycles in which frames and packets start to leave. */
  val frameStarts: mutable.Buffer[Int] = mutable.Buffer.empty
  val linkStarts: mutable.Buffer[Int] = mutable.Buffer.empty
  val wordsOut: mutable.Buffer[Int] = mutable.Buffer.empty
  val wordsIn: mutable.Buffer[Int] = mutable.Buffer.empty
  var cycle: Int = 0

  /** Beats that wait to be sent: one a cycle to the port, and as the link takes them. */
  private val toMac = mutable.Queue.empty[Option[(Seq[Byte], Boolean, Boolean)]]
  private val toLink = mutable.Queue.empty[(Seq[Byte], Boolean, OuterCoreBench.Sent)]
  private val partial = Array.fill(3)(Vector.empty[Byte])

  private def flag(signal: Bool): Boolean = signal.peek().litToBoolean

  private def collect(
      port: Int,
      fires: Boolean,
      data: UInt,
      bytes: UInt,
      last: Bool
  )(end: Seq[Byte] => Unit): Boolean = {
    val starts = fires && partial(port).isEmpty
    if (fires) {
      partial(port) ++= Packet.bytesOf(data.peek().litValue, bytes.peek().litValue.toInt)
      if (flag(last)) {
        end(partial(port))
        partial(port) = Vector.empty
      }
    }
    starts
  }

  def step(): Unit = {
    val beat = if (toMac.isEmpty) None else toMac.dequeue()
    dut.io.macRx.valid.poke(beat.nonEmpty)
    for ((bytes, last, error) <- beat) {
      dut.io.macRx.bits.data.poke(Packet.littleEndian(bytes))
      dut.io.macRx.bits.bytes.poke(bytes.length)
      dut.io.macRx.bits.last.poke(last)
      dut.io.macRx.bits.error.poke(error)
    }
    val in = dut.io.fromCrypto
    in.valid.poke(toLink.nonEmpty)
    for ((bytes, last, packet) <- toLink.headOption) {
      in.bits.data.poke(Packet.littleEndian(bytes))
      in.bits.bytes.poke(bytes.length)
      in.bits.last.poke(last)
      in.bits.meta.length.poke(packet.payload.length)
      in.bits.meta.sa.poke(packet.sa)
      in.bits.meta.bypass.poke(packet.bypass)
      in.bits.meta.tos.poke(packet.tos)
      in.bits.meta.df.poke(packet.df)
      in.bits.meta.nextHeader.poke(packet.nextHeader)
      if (flag(in.ready)) toLink.dequeue()
    }

    val out = dut.io.toCrypto
    val meta = out.bits.meta
    if (
      collect(0, flag(out.valid) && flag(out.ready), out.bits.data, out.bits.bytes, out.bits.last) { bytes =>
        assert(meta.length.peek().litValue == bytes.length)
        places += Option.when(flag(meta.moved))(meta.peerTag.peek().litValue.toInt)
        linked += Outcome.Link(meta.sa.peek().litValue.toInt, flag(meta.bypass), meta.tos.peek().litValue.toInt, bytes)
      }
    ) linkStarts += cycle
    val mac = dut.io.macTx
    if (collect(1, flag(mac.valid) && flag(mac.ready), mac.bits.data, mac.bits.bytes, mac.bits.last)(frames += _))
      frameStarts += cycle
    val punt = dut.io.punt
    collect(2, flag(punt.valid) && flag(punt.ready), punt.bits.data, punt.bits.bytes, punt.bits.last)(bytes =>
      punted += Outcome.Punt(bytes)
    )
    if (flag(dut.io.wordOut)) wordsOut += cycle
    if (flag(dut.io.wordIn)) wordsIn += cycle
    dut.clock.step()
    cycle += 1
  }

  def run(cycles: Int): Unit = for (_ <- 0 until cycles) step()

  /** Until everything is sent, and `settle` cycles more. */
  def drain(settle: Int = 500): Unit = {
    while (toMac.nonEmpty || toLink.nonEmpty) step()
    run(settle)
  }

  /** Queues a frame; the next one starts `interval` cycles after it, or when it has ended. */
  def receive(frame: Seq[Byte], interval: Int = 0, error: Boolean = false): Unit = {
    val beats = frame.grouped(64).toSeq
    for ((beat, i) <- beats.zipWithIndex) toMac.enqueue(Some((beat, i == beats.size - 1, error && i == beats.size - 1)))
    for (_ <- beats.size until interval) toMac.enqueue(None)
  }

  def send(packet: OuterCoreBench.Sent): Unit = {
    val beats = packet.payload.grouped(64).toSeq
    for ((beat, i) <- beats.zipWithIndex) toLink.enqueue((beat, i == beats.size - 1, packet))
  }

  /** A frame of one beat from the management CPU. */
  def inject(frame: Seq[Byte], encrypt: Boolean): Unit = {
    val inject = dut.io.inject
    inject.valid.poke(true)
    inject.bits.meta.encrypt.poke(encrypt)
    inject.bits.data.poke(Packet.littleEndian(frame))
    inject.bits.bytes.poke(frame.length)
    inject.bits.last.poke(true)
    inject.bits.error.poke(false)
    while (!flag(inject.ready)) step()
    step()
    inject.valid.poke(false)
  }

  def start(): Unit = {
    bus.idle()
    dut.io.laneUp.poke(true)
    dut.io.toCrypto.ready.poke(true)
    dut.io.macTx.ready.poke(true)
    dut.io.punt.ready.poke(true)
    dut.io.inject.valid.poke(false)
    while (!flag(dut.io.ready)) step()
    run(500) // the link comes up meanwhile
    assert(CommonRegs.Status.linkUp(bus.read(CommonRegs.status)) == 1)
  }

  def clear(): Unit = Seq(linked, places, punted, frames, frameStarts, linkStarts, wordsOut, wordsIn).foreach(_.clear())

  def counters(): Map[String, BigInt] = OuterCounters.all.map(c => c.name -> bus.counter(c.index)).toMap

  /** received = sent + punted + drops + merged + held; counters changed since `before`. */
  def balanced(before: Map[String, BigInt]): Map[String, BigInt] = {
    val now = counters()
    for (path <- Seq("encrypt", "decrypt")) {
      def sum(kinds: String*): BigInt =
        OuterCounters.all.filter(c => c.path == path && kinds.contains(c.kind)).map(c => now(c.name)).sum
      assert(sum(CounterDesc.arisen: _*) == sum(CounterDesc.accounted: _*), s"$path path: $now")
    }
    // Which frames are high is what PriorityClassSpec and MacReceiveSpec judge.
    now.map { case (name, value) => name -> (value - before(name)) }.filter(_._2 != 0) - "rx_priority"
  }
}

object OuterCoreBench {

  /** A packet from the crypto chip. */
  case class Sent(
      payload: Seq[Byte],
      sa: Int,
      bypass: Boolean = false,
      tos: Int = 0,
      df: Boolean = false,
      nextHeader: Int = 4
  )
}
