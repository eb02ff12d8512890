// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tracking

import chisel3._
import chisel3.util._
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.common.stream.PacketStream

/**
 * A fragment that waits for the first one of its datagram.
 *
 * @param restType of what else its path has to know of it
 */
class WaitingMeta[R <: Data](restType: R) extends Bundle {

  /** Bytes of the frame. */
  val length = UInt(PacketStream.lengthBits.W)

  /** Tick in which it came. */
  val born = UInt(TrackerConfig.tickBits.W)

  /** Of its datagram, as of [[FragmentTable]]. */
  val mark = UInt(TrackerConfig.markBits.W)
  val rest = restType.cloneType
}

/**
 * Where later fragments wait until the first one has come.
 *
 * A round lets out each fragment that is there, for another look-up; one that finds nothing comes
 * back in. A round begins behind the one before it: when a first fragment has come, time has
 * passed, or the ring is crowded. So does one when a fragment comes in within
 * [[FragmentRing.hopeCycles]] of a first one of its `mark`.
 *
 * The ring is crowded while less room is left than the longest frame needs, or
 * [[FragmentRing.spareFrames]] do. Then the fragment at the head is dropped (`dropFull`), at a beat
 * a cycle, unless a first fragment of its `mark` has come in those cycles: fragments whose first
 * one never comes take no room from those whose first one is on its way. A fragment that finds no
 * room all the same counts alike.
 *
 * `in` is always ready. `out.valid` may fall again before a fragment's first beat has left: the
 * ring has become crowded.
 *
 * @param p its room, which drops when it is full
 */
class FragmentRing[R <: Data](rest: R, p: FrameFifoParams) extends Module {
  require(
    p.beats >= 2 * TrackerConfig.frameBeats && p.frames > FragmentRing.spareFrames && p.whenFull == WhenFull.Drop,
    s"a ring of ${p.beats} beats and ${p.frames} frames"
  )
  private val meta = new WaitingMeta(rest)
  val io = IO(new Bundle {
    val tick = Input(Bool())

    /** A first fragment has come, of a datagram with this mark. */
    val came = Flipped(Valid(UInt(TrackerConfig.markBits.W)))
    val in = Flipped(PacketStream(meta))
    val out = PacketStream(meta)

    /** Fragments that are dropped in this cycle: of those at the head, and of those that come. */
    val dropFull = Output(UInt(2.W))

    /** There are fragments. */
    val busy = Output(Bool())
  })

  private val fifo = Module(new FrameFifo(meta, p))
  fifo.io.in <> io.in
  private def beats(meta: WaitingMeta[R]): UInt = (meta.length +& (PacketStream.dataBytes - 1).U) >> 6

  // The head, and whether hope keeps it: known as soon as it is the head.
  private val head = Reg(chiselTypeOf(fifo.io.out.bits))
  private val present = RegInit(false.B)
  private val hope = Reg(Bool())
  private val fires = Wire(Bool())
  private val moves = !present || fires
  private val leaves = fires && head.last
  fifo.io.out.ready := moves
  when(moves) {
    present := fifo.io.out.valid
    head := fifo.io.out.bits
  }

  private val arrived = RegNext(io.in.fire && io.in.bits.last, false.B)
  private val stored = arrived && !fifo.io.droppedOverflow
  private val storedBeats = RegNext(beats(io.in.bits.meta))
  private val frames = RegInit(0.U(log2Ceil(p.beats + 1).W))
  private val level = RegInit(0.U(log2Ceil(p.beats + 1).W))
  frames := frames + stored - leaves
  level := level + Mux(stored, storedBeats, 0.U) - Mux(leaves, beats(head.meta), 0.U)
  private val crowded = RegNext(
    level > (p.beats - TrackerConfig.frameBeats).U || frames > (p.frames - FragmentRing.spareFrames).U,
    false.B
  )

  // Marks of the first fragments of the last cycles.
  private val marks = 1 << TrackerConfig.markBits
  private val fresh = RegInit(0.U(marks.W))
  private val older = RegInit(0.U(marks.W))
  private val mark = Mux(io.came.valid, UIntToOH(io.came.bits, marks), 0.U)
  private val (_, ages) = Counter(true.B, FragmentRing.hopeCycles)
  fresh := Mux(ages, mark, fresh | mark)
  when(ages) { older := fresh }
  private def hopes(mark: UInt): Bool = (fresh | older)(mark)
  hope := hopes(Mux(moves, fifo.io.out.bits.meta.mark, head.meta.mark))
  // It was looked up before the first one came, and is in the ring only now.
  private val meets = stored && hopes(RegNext(io.in.bits.meta.mark))

  // A round, and how many it has left.
  private val due = RegInit(false.B)
  private val round = RegInit(false.B)
  private val left = RegInit(0.U(log2Ceil(p.beats + 1).W))
  when(leaves) {
    left := left - 1.U
    round := left =/= 1.U
  }
  when(!round && (due || crowded)) {
    left := frames
    round := frames =/= 0.U
    due := false.B
  }
  when(io.tick || io.came.valid || meets) { due := true.B }

  // The first beat that leaves settles the fate of the others. `crowded` does not know of the last
  // ones that left, so two or three more may be dropped.
  private val first = RegInit(true.B)
  private val spilling = RegInit(false.B)
  private val spills = Mux(first, crowded && !hope, spilling)
  fires := present && round && (spills || io.out.ready)
  when(fires) {
    first := head.last
    spilling := spills
  }

  io.out.valid := present && round && !spills
  io.out.bits := head
  io.dropFull := RegNext(leaves && spills, false.B) +& fifo.io.droppedOverflow
  io.busy := RegNext(frames =/= 0.U || arrived, false.B)
}

object FragmentRing {

  /** More than a fragment takes from its look-up into the ring, unless the path stalls. */
  val hopeCycles: Int = 512

  /** Those that come in while the longest leaves, one every second cycle, and a few more. */
  val spareFrames: Int = TrackerConfig.frameBeats / 2 + 10
}
