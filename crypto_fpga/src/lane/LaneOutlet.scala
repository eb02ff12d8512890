package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common._

/** All that the outlet needs to know of a finished packet. */
class LaneFinished(config: LaneConfig) extends Bundle {
  val frame = new LaneFrame(config)
  val verdict = Verdict()

  /** As the packet came in. */
  val meta = new LinkMeta

  /** Decrypt: bytes of the inner packet, and its protocol. */
  val length = UInt(PacketStream.lengthBits.W)
  val nextHeader = UInt(8.W)

  /** Encrypt: what stands before and behind the ciphertext. */
  val head = UInt(128.W)
  val tag = UInt(128.W)
}

/**
 * The exit of a lane: sends finished packets in the order of their slots, and gives back their room.
 *
 * A beat a cycle, without a pause between packets. It looks at slot `slot` of memories with asynchronous read
 * (`finished`, when `done`), and takes it with `taken`. `release` is in the cycle of the last read: the room is
 * free from then on. An encrypting lane puts the header in front of the ciphertext and the ICV, whose place is any
 * word, behind it. A packet whose verdict is not ok leaves as one empty beat; the buffer is not read for it.
 */
class LaneOutlet(config: LaneConfig) extends Module {
  private val rowBits = log2Ceil(config.bufferBeats)
  val io = IO(new Bundle {
    val slot = Output(UInt(log2Ceil(config.slots).W))
    val done = Input(Bool())
    val finished = Input(new LaneFinished(config))
    val taken = Output(Bool())
    val release = Valid(UInt(LaneFrame.beatBits.W))
    val read = Valid(UInt(rowBits.W))

    /** The beat that `read` named a cycle before. */
    val readData = Input(UInt(PacketStream.dataBits.W))
    val out = PacketStream(new LaneResult)

    /** A beat has been read and has not left. */
    val pending = Output(Bool())
  })

  private class Packet extends Bundle {
    val row = UInt(rowBits.W)
    val beats = UInt(LaneFrame.beatBits.W)
    val ok = Bool()
    val result = new LaneResult

    /** Bytes to send. */
    val bytes = UInt(PacketStream.lengthBits.W)

    /** Encrypt: words in front of the tag; the head; the tag, turned so that each word is in its place modulo four. */
    val words = UInt((PacketStream.lengthBits - 2).W)
    val head = UInt(128.W)
    val tag = UInt(128.W)
  }

  private val slot = RegInit(0.U(log2Ceil(config.slots).W))
  io.slot := slot

  // A packet waits here, fetched from the memories, ...
  private val waits = RegInit(false.B)
  private val waiting = Reg(new LaneFinished(config))
  // ... while the one before it is sent from here.
  private val active = RegInit(false.B)
  private val now = Reg(new Packet)
  private val begin = Wire(Bool())

  io.taken := io.done && (!waits || begin)
  when(io.taken) {
    waiting := io.finished
    slot := slot + 1.U
  }
  waits := io.taken || (waits && !begin)

  private val next = Wire(new Packet)
  private val ok = waiting.verdict === Verdict.ok
  private val length = if (config.encrypt) waiting.frame.text + Esp.overhead.U else waiting.length
  next.row := waiting.frame.base
  next.beats := waiting.frame.beats
  next.ok := ok
  next.result.verdict := waiting.verdict
  next.result.meta := waiting.meta
  when(ok) {
    next.result.meta.length := length
    if (!config.encrypt) next.result.meta.nextHeader := waiting.nextHeader
  }
  next.bytes := Mux(ok, length, 1.U)
  next.words := (waiting.frame.text >> 2) + 4.U
  next.head := waiting.head
  private val tagWords = waiting.tag.asTypeOf(Vec(4, UInt(32.W)))
  next.tag := Cat(Seq.tabulate(4)(i => tagWords(i.U(2.W) - waiting.frame.text(3, 2))).reverse)

  // Read a beat a cycle, as long as the outlet's queue has room for what is on its way.
  private val outlet = Module(new PipelineOutlet(chiselTypeOf(io.out.bits), entries = 6))
  private val issue = active && outlet.io.ready
  private val last = now.bytes <= PacketStream.dataBytes.U
  private val first = RegInit(true.B)
  begin := waits && (!active || (issue && last))
  when(issue) {
    now.row := now.row + 1.U
    now.bytes := now.bytes - PacketStream.dataBytes.U
    now.words := now.words - 16.U
    first := last
    active := !last
  }
  when(begin) {
    now := next
    active := true.B
  }
  io.release.valid := issue && last
  io.release.bits := now.beats
  io.read.valid := issue && now.ok
  io.read.bits := now.row
  outlet.io.take := issue
  outlet.io.cancel := false.B

  // The beat is here, with what was known when it was read.
  private val beatValid = RegNext(issue, false.B)
  private val beatLast = RegNext(last)
  private val beatBytes = RegNext(Mux(last, now.bytes, PacketStream.dataBytes.U)(6, 0))
  private val beatOk = RegNext(now.ok)
  private val beatResult = RegNext(now.result)
  private val masked = if (config.encrypt) {

    /** Bit i: word i of the beat lies before word `limit`. */
    def before(limit: UInt, negative: Bool): UInt = VecInit.tabulate(16)(i => limit > i.U && !negative).asUInt
    // `words` runs below zero when the tag began in the beat before: by 3 at most.
    val below = now.words(now.words.getWidth - 1) && now.words(now.words.getWidth - 2)
    val cipher = RegNext(before(now.words, below))
    val packet = RegNext(before(now.words + 4.U, false.B))
    val head = RegNext(first)
    val headBlock = RegNext(now.head)
    val tag = RegNext(now.tag)
    Cat(Seq.tabulate(16) { i =>
      val at = 32 * (i % 4)
      val data = io.readData(32 * i + 31, 32 * i)
      val body = if (i < 4) Mux(head, headBlock(at + 31, at), data) else data
      Mux(cipher(i), body, Mux(packet(i), tag(at + 31, at), 0.U))
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
  outlet.io.in.valid := RegNext(beatValid, false.B)
  outlet.io.in.bits := beat
  io.out <> outlet.io.out

  private val pending = RegInit(0.U(4.W))
  pending := pending + issue - io.out.fire
  io.pending := waits || active || pending =/= 0.U
}
