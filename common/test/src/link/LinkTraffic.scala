// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.ByteShift
import sallyport.common.stream.PacketStream

/**
 * Packets that follow from their number alone: length, metadata and bytes of packet `index` are
 * the same at both ends.
 */
object LinkTraffic {
  def hash(x: UInt): UInt = {
    val a = (x * "h9e3779b1".U)(31, 0)
    val b = a ^ (a >> 15).asUInt
    val c = (b * "h85ebca77".U)(31, 0)
    c ^ (c >> 13).asUInt
  }

  /** 1 to 9600 bytes; half have at most 128, and one of eight has any length. */
  def length(index: UInt): UInt = {
    val h = hash(index)
    val long = Mux(h(13, 0) > 9599.U, h(12, 0), h(13, 0))
    MuxLookup(h(31, 29), h(6, 0).pad(14))(Seq(4.U -> h(8, 0), 5.U -> h(8, 0), 6.U -> h(10, 0), 7.U -> long)) + 1.U
  }

  def meta(index: UInt, sequence: Boolean): LinkMeta = {
    val h = hash(~index)
    val meta = Wire(new LinkMeta)
    meta.length := length(index)
    meta.sa := index(15, 0)
    meta.peerTag := index(23, 16)
    meta.tos := index(31, 24)
    meta.nextHeader := h(7, 0)
    meta.bypass := h(8)
    meta.transport := h(9)
    meta.moved := h(10)
    meta.df := h(11)
    meta.sequence := (if (sequence) Cat(h, index) else 0.U)
    meta
  }

  def index(meta: LinkMeta): UInt = Cat(meta.tos, meta.peerTag, meta.sa)

  /** Beat `number` of packet `index`, zero above `bytes`. */
  def data(index: UInt, number: UInt, bytes: UInt): UInt = {
    val h = hash(index ^ (number << 24)(31, 0))
    ByteShift.keep(Cat((0 until 16).map(i => h.rotateLeft(i) ^ (i * 0x01010101).U)), ByteShift.mask(bytes))
  }
}

/** Makes packets 0, 1, 2 … while `enable`, with random pauses if `idle`. */
class LinkSource(sequence: Boolean) extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val idle = Input(Bool())
    val seed = Input(UInt(32.W))

    /** Forget the packet under way. */
    val abort = Input(Bool())
    val out = PacketStream(new LinkMeta)
    val sent = Output(UInt(32.W))
  })
  private val noise = Noise(77, io.seed)
  private val index = RegInit(0.U(32.W))
  private val beat = RegInit(0.U(8.W))
  private val valid = RegInit(false.B)
  private val length = LinkTraffic.length(index)
  private val left = length - (beat << 6)
  private val last = left <= 64.U
  io.out.valid := valid
  io.out.bits.last := last
  io.out.bits.bytes := Mux(last, left(6, 0), 64.U)
  io.out.bits.error := false.B
  io.out.bits.data := LinkTraffic.data(index, beat, io.out.bits.bytes)
  io.out.bits.meta := LinkTraffic.meta(index, sequence)
  io.sent := index
  private val inPacket = Mux(io.out.fire, !last, beat =/= 0.U)
  private val pause = io.idle && noise(20, 18) === 0.U
  when(io.out.fire) {
    beat := Mux(last, 0.U, beat + 1.U)
    index := index + last
  }
  when(io.out.fire || !valid) { valid := (inPacket || io.enable) && !pause }
  when(io.abort) {
    beat := 0.U
    index := index + 1.U
    valid := false.B
  }
}

/**
 * Takes packets, with random stalls if `stall`; every one must be whole, right and later than the
 * one before it.
 */
class LinkSink(sequence: Boolean) extends Module {
  val io = IO(new Bundle {
    val stall = Input(Bool())
    val seed = Input(UInt(32.W))

    /** Forget the packet under way. */
    val abort = Input(Bool())
    val in = Flipped(PacketStream(new LinkMeta))
    val delivered = Output(UInt(32.W))
    val wrong = Output(UInt(32.W))
  })
  private val noise = Noise(78, io.seed)
  private val index = LinkTraffic.index(io.in.bits.meta)
  private val next = RegInit(0.U(32.W))
  private val beat = RegInit(0.U(8.W))
  private val delivered = RegInit(0.U(32.W))
  private val wrong = RegInit(0.U(32.W))
  private val left = LinkTraffic.length(index) - (beat << 6)
  private val last = left <= 64.U
  private val bytes = Mux(last, left(6, 0), 64.U)
  private val bits = io.in.bits
  private val good = index >= next && bits.last === last && bits.bytes === bytes && !bits.error &&
    bits.data === LinkTraffic.data(index, beat, bytes) &&
    bits.meta.asUInt === LinkTraffic.meta(index, sequence).asUInt
  io.in.ready := RegNext(!io.stall || noise(30), false.B)
  when(io.in.fire) {
    wrong := wrong + !good
    beat := Mux(bits.last, 0.U, beat + 1.U)
    when(bits.last) {
      next := index + 1.U
      delivered := delivered + 1.U
    }
  }
  when(io.abort) { beat := 0.U }
  io.delivered := delivered
  io.wrong := wrong
}

/** The counts of one direction's packets. */
class DirectionReport extends Bundle {
  val sent = UInt(32.W)
  val delivered = UInt(32.W)
  val received = UInt(32.W)
  val lost = UInt(32.W)
  val wrong = UInt(32.W)
  val resyncs = UInt(32.W)
  val faults = UInt(32.W)

  /** Longest time in which a packet waited at the entry and none was delivered or found lost. */
  val longestWait = UInt(32.W)
}

/** The counts of one direction's messages. */
class MessageReport extends Bundle {

  /** Taken by the sender, while it carries packets or not. */
  val taken = UInt(32.W)
  val arrived = UInt(32.W)

  /** Changed on the way, or not later than the one before. */
  val wrong = UInt(32.W)
}

/**
 * Two ends, joined by two channels with faults, with traffic both ways: an end with sequence
 * numbers each way once. With `messages` each end sends numbered ones as fast as it can.
 */
class LinkTorture(messages: Boolean = false) extends Module {
  override def desiredName = "LinkTorture"

  val io = IO(new Bundle {
    val enable = Input(Bool())
    val idle = Input(Bool())
    val stall = Input(Bool())
    val channels = Input(Vec(2, new ChannelControl))

    /** Each end may be reset alone. */
    val resets = Input(Vec(2, Bool()))
    val clear = Input(Bool())
    val report = Output(Vec(2, new DirectionReport))
    val messages = Option.when(LinkTorture.this.messages)(Output(Vec(2, new MessageReport)))
    val up = Output(Vec(2, Bool()))
  })
  private val ends = Seq(
    LinkParams(withSequenceRx = true),
    LinkParams(withSequenceTx = true)
  ).map(_.copy(messages = messages)).zipWithIndex.map {
    case (params, i) => withReset(reset.asBool || io.resets(i)) { Module(new Link(params)) }
  }
  for (i <- 0 until 2) {
    val (from, to) = (ends(i), ends(1 - i))
    val sequence = i == 1
    val source = Module(new LinkSource(sequence))
    source.io.enable := io.enable
    source.io.idle := io.idle
    source.io.seed := io.channels(i).seed
    source.io.abort := io.resets(i)
    from.io.in <> source.io.out
    val channel = Module(new LinkChannel(41, 100 * i))
    channel.io.control := io.channels(i)
    channel.io.in <> from.io.port.tx
    to.io.port.rx := channel.io.out
    to.io.port.up := RegNext(io.channels(i).up, false.B)
    val sink = Module(new LinkSink(sequence))
    sink.io.stall := io.stall
    sink.io.seed := io.channels(i).seed
    sink.io.abort := io.resets(1 - i)
    sink.io.in <> to.io.out

    def count(increment: UInt): UInt = {
      val c = RegInit(0.U(32.W))
      c := c + increment
      c
    }
    val report = io.report(i)
    report.sent := source.io.sent
    report.delivered := sink.io.delivered
    report.wrong := sink.io.wrong
    report.received := count(to.io.status.received)
    report.lost := count(to.io.status.lost)
    report.resyncs := count(to.io.status.resynced)
    report.faults := channel.io.faults
    val wait_ = RegInit(0.U(32.W))
    val longest = RegInit(0.U(32.W))
    val progress = to.io.status.received || to.io.status.lost.orR || !source.io.out.valid || io.clear
    wait_ := Mux(progress, 0.U, wait_ + 1.U)
    longest := Mux(io.clear, 0.U, Mux(wait_ > longest, wait_, longest))
    report.longestWait := longest
    io.up(i) := to.io.status.up

    for (report <- io.messages) {
      def message(number: UInt): UInt = LinkTraffic.hash(~number)(23, 0) ## LinkTraffic.hash(number) ## number
      val send = from.io.messages.get.send
      val receive = to.io.messages.get.receive
      val number = RegInit(0.U(32.W))
      val next = RegInit(0.U(32.W))
      val index = receive.bits(31, 0)
      send.valid := io.enable && !io.resets(i)
      send.bits := message(number)
      number := number + send.fire
      when(receive.valid) { next := index + 1.U }
      report(i).taken := number
      report(i).arrived := count(receive.valid)
      report(i).wrong := count(receive.valid && (receive.bits =/= message(index) || index < next))
    }
  }
}
