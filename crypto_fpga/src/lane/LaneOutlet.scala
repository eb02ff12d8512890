// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.ByteShift
import sallyport.common.link.LinkMeta
import sallyport.common.queue.ShiftQueue
import sallyport.common.stream.{PacketBeat, PacketStream}

/** All that the outlet needs to know of a finished packet. */
class LaneFinished(config: LaneConfig) extends Bundle {

  /** Its first beat, and the beats set aside for it. */
  val base = UInt(config.rowBits.W)
  val beats = UInt(LaneFrame.beatBits.W)
  val verdict = Verdict()

  /** As the packet came in. */
  val meta = new LinkMeta

  /** Decrypt: bytes of the inner packet, and its protocol. */
  val length = UInt(PacketStream.lengthBits.W)
  val nextHeader = UInt(8.W)

  /**
   * Encrypt: the ICV behind the ciphertext, and the number of 4-byte words in front of it: header,
   * IV and ciphertext.
   */
  val tag = UInt(256.W)
  val words = UInt((PacketStream.lengthBits - 2).W)

  /** Encrypt: bytes of the ICV. */
  val icvBytes = UInt(6.W)
}

/**
 * The exit of a lane: sends finished packets as they are granted, those of a class in the order in
 * which they came, and gives back their room.
 *
 * A beat a cycle, without a pause between packets, but none is read with `pause` or `stop`. Two
 * cycles after it is read, a beat is at `out`. `done` tells once of each packet of a class in
 * order. The outlet looks at slot `slot` of memories with asynchronous read (`finished`), and takes
 * it with `taken`. `release` is in the cycle of the last read: the room is free from then on. An
 * encrypting lane puts the ICV, whose place is any word, behind the ciphertext. A packet whose
 * verdict is not ok leaves as one empty beat; the buffer is not read for it.
 */
class LaneOutlet(config: LaneConfig) extends Module {
  private val rowBits = config.rowBits
  val io = IO(new Bundle {

    /** Of each slot: its packet is finished. */
    val finishedSlots = Input(UInt(config.slots.W))
    val done = Output(Vec(2, Bool()))

    /** No packet is in the lane. What a flipped bit may have left ends. */
    val idle = Input(Bool())
    val grant = Input(Vec(2, Bool()))

    /** The next fast packet's. */
    val slot = Output(UInt(config.slotBits.W))
    val finished = Input(new LaneFinished(config))
    val taken = Output(Bool())

    /**
     * `finished` is that of `slot` in this cycle; only in every second one of a lane with
     * slow suites, whose packets leave their slots meanwhile.
     */
    val turn = Output(Bool())

    /** The next slow packet: [[LaneRetire]]. */
    val front = Flipped(Valid(new LaneFinished(config)))
    val tellsSlow = Input(Bool())
    val takeFront = Output(Bool())
    val release = Valid(new LaneRelease)
    val read = Valid(UInt(rowBits.W))

    /** Something else reads the buffer in this cycle. */
    val pause = Input(Bool())

    /** The beat that `read` named a cycle before. */
    val readData = Input(UInt(PacketStream.dataBits.W))
    val out = Valid(new PacketBeat(new LaneResult))
    val stop = Input(Bool())

    /** A packet is on its way from its slot to `out`. */
    val pending = Output(Bool())
  })

  private class Packet extends Bundle {
    val row = UInt(rowBits.W)
    val beats = UInt(LaneFrame.beatBits.W)
    val ok = Bool()
    val result = new LaneResult

    val fast = Bool()

    /**
     * Bytes to send, and whether one beat holds them: known a cycle early, as whole slots turn
     * on it.
     */
    val bytes = UInt(PacketStream.lengthBits.W)
    val last = Bool()

    /**
     * Encrypt: words in front of the ICV; words of the ICV; the ICV, turned so that each word is
     * in its place modulo eight.
     */
    val words = UInt((PacketStream.lengthBits - 2).W)
    val icvWords = UInt(4.W)
    val tag = UInt(256.W)
  }

  // Packets granted, in order.
  private val grants = Module(new ShiftQueue(Bool(), LanePorts.grants))
  grants.io.in.valid := io.grant.reduce(_ || _)
  grants.io.in.bits := io.grant(1)
  assert(!grants.io.in.valid || grants.io.in.ready, "more packets granted than a lane keeps")
  assert(!io.grant.reduce(_ && _), "one grant a cycle")
  private def pointer(moves: Bool) = {
    val slot = RegInit(config.slotRings.start(fastRing = true).U(config.slotBits.W))
    when(moves) { slot := config.slotRings.after(slot, 1.U) }
    slot
  }
  io.slot := pointer(io.taken)

  // Told of once: a fast packet if it is not the one of a ring ago, still in its slot. Its slot is
  // seen to be free two cycles after it has left.
  private val told = WireDefault(false.B)
  private val telling = pointer(told)
  private val toldOf = RegInit(0.U(log2Ceil(config.slots + 1).W))
  if (config.hasGhash) {
    told := io.finishedSlots(telling) && toldOf < config.slotRings.places(fastRing = true).U
    toldOf := Mux(io.idle, 0.U, toldOf + told - ShiftRegister(io.taken, 2, false.B, true.B))
  }
  io.done(0) := RegNext(io.tellsSlow, false.B)
  io.done(1) := RegNext(told, false.B)

  // A packet waits here, fetched from the memories, ...
  private val waits = RegInit(false.B)
  private val waiting = Reg(new LaneFinished(config))
  private val waitingFast = Reg(Bool())
  // ... while the one before it is sent from here.
  private val active = RegInit(false.B)
  private val now = Reg(new Packet)
  private val begin = Wire(Bool())

  private val turn = if (config.hasSlow && config.hasGhash) RegInit(false.B) else WireDefault(config.hasGhash.B)
  if (config.hasSlow && config.hasGhash) turn := !turn
  io.turn := turn
  // A granted packet is finished, but a flipped bit may have granted it.
  private val fastReady = RegNext(io.finishedSlots(io.slot) && !io.taken, false.B)
  grants.io.out.ready := (!waits || begin) && Mux(grants.io.out.bits, turn && fastReady, io.front.valid)
  private val takes = grants.io.out.fire
  io.taken := takes && grants.io.out.bits
  io.takeFront := takes && !grants.io.out.bits
  when(takes) {
    waiting := Mux(grants.io.out.bits, io.finished, io.front.bits)
    waitingFast := grants.io.out.bits
  }
  waits := takes || (waits && !begin)

  private val next = Wire(new Packet)
  private val ok = waiting.verdict === Verdict.ok
  private val length = if (config.encrypt) (waiting.words << 2) + waiting.icvBytes else waiting.length
  next.row := waiting.base
  next.beats := waiting.beats
  next.ok := ok
  next.fast := waitingFast
  next.result.verdict := waiting.verdict
  next.result.meta := waiting.meta
  when(ok) {
    next.result.meta.length := length
    if (!config.encrypt) next.result.meta.nextHeader := waiting.nextHeader
  }
  next.bytes := Mux(ok, length, 1.U)
  next.last := !ok || length <= PacketStream.dataBytes.U
  next.words := waiting.words
  next.icvWords := waiting.icvBytes >> 2
  next.tag := ByteShift.turn(waiting.tag, 0.U(1.W) ## waiting.words(2, 0) ## 0.U(2.W), 0 until 32 by 4)

  private val issue = active && !io.stop && !io.pause
  private val last = now.last
  begin := waits && (!active || (issue && last))
  when(issue) {
    now.row := config.beatRings.after(now.row, 1.U)
    now.bytes := now.bytes - PacketStream.dataBytes.U
    now.last := now.bytes <= (2 * PacketStream.dataBytes).U
    now.words := now.words - 16.U
    active := !last
  }
  when(begin) {
    now := next
    active := true.B
  }
  io.release.valid := issue && last
  io.release.bits.beats := now.beats
  io.release.bits.fast := now.fast
  io.read.valid := issue && now.ok
  io.read.bits := now.row

  // The beat is here, with the facts known when it was read.
  private val beatValid = RegNext(issue, false.B)
  private val beatLast = RegNext(last)
  private val beatBytes = RegNext(Mux(last, now.bytes, PacketStream.dataBytes.U)(6, 0))
  private val beatOk = RegNext(now.ok)
  private val beatResult = RegNext(now.result)
  private val masked = if (config.encrypt) {

    /** Bit i: word i of the beat lies before word `limit`. */
    def before(limit: UInt, negative: Bool): UInt = VecInit.tabulate(16)(i => limit > i.U && !negative).asUInt
    // `words` runs below zero when the ICV began in the beat before: by 7 at most.
    val below = now.words(now.words.getWidth - 1) && now.words(now.words.getWidth - 2)
    val cipher = RegNext(before(now.words, below))
    val packet = RegNext(before(now.words + now.icvWords, false.B))
    val tag = RegNext(now.tag)
    Cat(Seq.tabulate(16) { i =>
      val at = 32 * (i % 8)
      Mux(cipher(i), io.readData(32 * i + 31, 32 * i), Mux(packet(i), tag(at + 31, at), 0.U))
    }.reverse)
  } else {
    val keep = Reg(UInt(PacketStream.dataBytes.W))
    keep := VecInit.tabulate(PacketStream.dataBytes)(i => now.bytes > i.U).asUInt
    io.readData & FillInterleaved(8, keep)
  }

  private val beat = Reg(chiselTypeOf(io.out.bits))
  beat.data := Mux(beatOk, masked, 0.U)
  beat.last := beatLast
  beat.bytes := beatBytes
  beat.error := !beatOk
  beat.meta := beatResult
  io.out.valid := RegNext(beatValid, false.B)
  io.out.bits := beat
  io.pending := waits || active || beatValid || io.out.valid
}
