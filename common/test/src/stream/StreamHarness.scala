// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/** Rhythms of a [[StreamHarness]]: when its source offers a beat, and when its sink takes one. */
object Pace {
  val Always = 0
  val Alternate = 1
  val Half = 2
  val Seldom = 3
  val Bursts = 4
  val all: Seq[Int] = Seq(Always, Alternate, Half, Seldom, Bursts)
}

/**
 * A register that is high when `pace` allows a transfer: a xorshift generator reseeded
 * by `start`.
 */
private class Pacer extends Module {
  val io = IO(new Bundle {
    val start = Input(Bool())
    val seed = Input(UInt(32.W))
    val pace = Input(UInt(3.W))
    val allow = Output(Bool())
  })
  private val state = RegInit(1.U(32.W))
  private val cycle = RegInit(0.U(32.W))
  private val s1 = state ^ (state << 13)(31, 0)
  private val s2 = s1 ^ (s1 >> 17)
  private val s3 = s2 ^ (s2 << 5)(31, 0)
  private val burst = Reg(Bool())
  state := Mux(io.start, Cat(io.seed(30, 0), 1.U(1.W)), s3)
  cycle := Mux(io.start, 0.U, cycle + 1.U)
  when(cycle(4, 0) === 0.U) { burst := state(7) }
  io.allow := MuxLookup(io.pace, true.B)(
    Seq(
      Pace.Alternate.U -> cycle(0),
      Pace.Half.U -> state(11),
      Pace.Seldom.U -> (state(14, 12) === 0.U),
      Pace.Bursts.U -> burst
    )
  )
}

/**
 * Where the module under test goes: packets come from `in`, go to `out`; the harness counts the
 * pulses of `events`. `setting` is a number that the test gives to a run.
 */
case class StreamEnds[I <: Data, O <: Data](
    in: DecoupledIO[PacketBeat[I]],
    out: DecoupledIO[PacketBeat[O]],
    events: Vec[Bool],
    setting: UInt
)

/**
 * Hardware around a stream module: a source that plays packets from a memory, and a sink that
 * records, hashes and checks the packets that come out. Scala only loads the memory and reads
 * results, so a whole test matrix runs on one compiled model at its full speed.
 *
 * @param depth beats that source and sink hold
 * @param connect instantiates the module under test between the ends it is given
 */
class StreamHarness[I <: Data, O <: Data](inMeta: I, outMeta: O, val depth: Int = 2048)(
    connect: StreamEnds[I, O] => Unit
) extends Module {
  override def desiredName = "StreamHarness"

  val inWidth: Int = (new PacketBeat(inMeta)).getWidth
  val outWidth: Int = (new PacketBeat(outMeta)).getWidth
  val io = IO(new Bundle {
    val load = Flipped(Valid(UInt(inWidth.W)))
    val clear = Input(Bool())
    val start = Input(Bool())
    val seed = Input(UInt(32.W))
    val idle = Input(UInt(3.W))
    val pressure = Input(UInt(3.W))
    val setting = Input(UInt(16.W))
    val address = Input(UInt(log2Ceil(depth).W))
    val recorded = Output(UInt(outWidth.W))
    val outBeats = Output(UInt(32.W))
    val hash = Output(UInt(64.W))
    val quiet = Output(UInt(32.W))
    val violations = Output(UInt(4.W))

    /** Cycles from the first beat in to the first and to the last beat out. */
    val latency = Output(UInt(32.W))
    val cycles = Output(UInt(32.W))

    /** Pulses of each event since `start`. */
    val events = Output(Vec(4, UInt(32.W)))
  })

  private def pacer(pace: UInt, salt: Long): Bool = {
    val p = Module(new Pacer)
    p.io.start := io.start
    p.io.seed := io.seed ^ salt.U
    p.io.pace := pace
    p.io.allow
  }

  // Source.
  private val source = Wire(PacketStream(inMeta))
  private val inMemory = Mem(depth, UInt(inWidth.W))
  private val count = RegInit(0.U(32.W))
  when(io.load.valid) {
    inMemory.write(count(log2Ceil(depth) - 1, 0), io.load.bits)
    count := count + 1.U
  }
  private val inIndex = RegInit(0.U(32.W))
  private val inValid = RegInit(false.B)
  private val running = RegInit(false.B)
  when(io.clear) {
    count := 0.U
    running := false.B
  }
  private val nextIn = inIndex + source.fire
  source.valid := inValid
  source.bits := inMemory.read(inIndex(log2Ceil(depth) - 1, 0)).asTypeOf(source.bits)
  inIndex := nextIn
  when(source.fire || !inValid) { inValid := running && pacer(io.idle, 0x51ed2701L) && nextIn < count }

  // Sink.
  private val sink = Wire(PacketStream(outMeta))
  private val outMemory = Mem(depth, UInt(outWidth.W))
  private val outIndex = RegInit(0.U(32.W))
  private val hash = RegInit(0.U(64.W))
  private val quiet = RegInit(0.U(32.W))
  sink.ready := RegNext(pacer(io.pressure, 0x2545f491L), false.B)
  private val packed = sink.bits.asUInt
  private val words = packed.pad((outWidth + 63) / 64 * 64)
  private val folded = (0 until words.getWidth / 64)
    .map(i => words(64 * i + 63, 64 * i).rotateLeft(7 * i % 64))
    .reduce(_ ^ _)
  when(sink.fire) {
    outMemory.write(outIndex(log2Ceil(depth) - 1, 0), packed)
    outIndex := outIndex + 1.U
    hash := ((hash.rotateLeft(17) ^ folded) * "h9e3779b97f4a7c15".U)(63, 0)
  }
  quiet := Mux(sink.fire || inIndex < count, 0.U, quiet + 1.U)
  io.recorded := outMemory.read(io.address)
  io.outBeats := outIndex
  io.hash := hash
  io.quiet := quiet

  // The rules of the stream, at the output.
  private val violations = RegInit(0.U(4.W))
  private val stalled = RegNext(sink.valid && !sink.ready, false.B)
  private val unstable = stalled && (!sink.valid || packed =/= RegNext(packed))
  private val keep = (Fill(64, 1.U) << sink.bits.bytes)(63, 0)
  private val stale = sink.valid && (sink.bits.data & FillInterleaved(8, keep)).orR
  private val size = sink.valid && Mux(
    sink.bits.last,
    sink.bits.bytes === 0.U || sink.bits.bytes > 64.U,
    sink.bits.bytes =/= 64.U
  )
  private val inPacket = RegInit(false.B)
  private val packetMeta = Reg(UInt(outMeta.getWidth.W))
  when(sink.fire) {
    inPacket := !sink.bits.last
    packetMeta := sink.bits.meta.asUInt
  }
  private val metaChanged = sink.fire && inPacket && packetMeta =/= sink.bits.meta.asUInt
  violations := violations | Cat(metaChanged, size, stale, unstable)
  io.violations := violations

  private val cycle = RegInit(0.U(32.W))
  private val firstIn = Reg(UInt(32.W))
  private val firstOut = Reg(UInt(32.W))
  private val lastOut = Reg(UInt(32.W))
  cycle := cycle + 1.U
  when(source.fire && inIndex === 0.U) { firstIn := cycle }
  when(sink.fire) {
    lastOut := cycle
    when(outIndex === 0.U) { firstOut := cycle }
  }
  io.latency := firstOut - firstIn
  io.cycles := lastOut - firstIn

  private val events = WireDefault(VecInit.fill(io.events.length)(false.B))
  private val eventCounts = RegInit(VecInit.fill(io.events.length)(0.U(32.W)))
  for ((count, event) <- eventCounts.zip(events)) count := count + event
  io.events := eventCounts

  when(io.start) {
    eventCounts.foreach(_ := 0.U)
    running := true.B
    inIndex := 0.U
    outIndex := 0.U
    hash := 0.U
    quiet := 0.U
    violations := 0.U
  }

  connect(StreamEnds(source, sink, events, io.setting))
}
