// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tracking

import chisel3._
import chisel3.util._
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.common.stream.{ConnectStream, PacketStream}

/** A fragment that waits for the first one of its datagram. */
class WaitingMeta extends Bundle {

  /** Bytes of the frame. */
  val length = UInt(PacketStream.lengthBits.W)

  /** Tick in which it came. */
  val born = UInt(TrackerConfig.tickBits.W)

  /** Of its datagram, as of [[FragmentTable]]. */
  val mark = UInt(TrackerConfig.markBits.W)
}

/**
 * Where later fragments wait until the first one has come.
 *
 * A round lets out each fragment that is there, for another look-up; one that finds nothing comes
 * back in. A round begins behind the one before it: when a first fragment has come or time has
 * passed, or when a fragment comes in within [[FragmentRing.hopeCycles]] of a first one of its
 * `mark`. A fragment goes round for twice as long at most.
 *
 * While less room is left than the longest frame needs, a fragment that comes to the head is
 * dropped (`dropFull`), at a beat a cycle, unless a first fragment of its `mark` has come in those
 * cycles: fragments whose first one never comes take no room from those whose
 * first one is on its way. A fragment that finds no room all the same counts alike.
 *
 * `in` is always ready.
 */
class FragmentRing(p: TrackerConfig) extends Module {
  val io = IO(new Bundle {
    val tick = Input(Bool())

    /** A first fragment has come, of a datagram with this mark. */
    val came = Flipped(Valid(UInt(TrackerConfig.markBits.W)))
    val in = Flipped(PacketStream(new WaitingMeta))
    val out = PacketStream(new WaitingMeta)

    /** Fragments that are dropped in this cycle: of those at the head, and of those that come. */
    val dropFull = Output(UInt(2.W))

    /** There are fragments. */
    val busy = Output(Bool())
  })

  private val fifo = Module(new FrameFifo(new WaitingMeta, FrameFifoParams(p.ringBeats, WhenFull.Drop)))
  fifo.io.in <> io.in
  private def beats(meta: WaitingMeta): UInt = (meta.length +& (PacketStream.dataBytes - 1).U) >> 6

  private val head = fifo.io.out
  private val leaves = head.fire && head.bits.last
  private val arrived = RegNext(io.in.fire && io.in.bits.last, false.B)
  private val stored = arrived && !fifo.io.droppedOverflow
  private val storedBeats = RegNext(beats(io.in.bits.meta))
  private val frames = RegInit(0.U(log2Ceil(p.ringBeats + 1).W))
  private val level = RegInit(0.U(log2Ceil(p.ringBeats + 1).W))
  frames := frames + stored - leaves
  level := level + Mux(stored, storedBeats, 0.U) - Mux(leaves, beats(head.bits.meta), 0.U)
  private val crowded = RegNext(level > (p.ringBeats - TrackerConfig.frameBeats).U, false.B)

  private val due = RegInit(false.B)
  private val left = RegInit(0.U(log2Ceil(p.ringBeats + 1).W))
  private val inside = RegInit(false.B)
  private val spills = RegInit(false.B)
  private val open = RegInit(false.B)

  // Marks of the first fragments of the last cycles.
  private val marks = 1 << TrackerConfig.markBits
  private val fresh = RegInit(0.U(marks.W))
  private val older = RegInit(0.U(marks.W))
  private val mark = Mux(io.came.valid, UIntToOH(io.came.bits, marks), 0.U)
  private val (_, ages) = Counter(true.B, FragmentRing.hopeCycles)
  fresh := Mux(ages, mark, fresh | mark)
  when(ages) { older := fresh }
  private val hopes = (fresh | older)(head.bits.meta.mark)
  // It was looked up before the first one came, and is in the ring only now.
  private val meets = stored && (fresh | older)(RegNext(io.in.bits.meta.mark))
  // What becomes of the head is settled between two packets, once `crowded` knows of the last one.
  private val settled = open || spills || RegNext(leaves, false.B)
  when(!settled && !inside) {
    when(left === 0.U) {
      when(due || crowded) {
        left := frames
        due := false.B
      }
    }.elsewhen(head.valid) {
      spills := crowded && !hopes
      open := !crowded || hopes
    }
  }
  when(io.tick || io.came.valid || meets) { due := true.B }
  when(head.fire) { inside := !head.bits.last }
  when(leaves) {
    open := false.B
    spills := false.B
    when(left =/= 0.U) { left := left - 1.U }
  }

  ConnectStream(io.out, head)(_ := _)
  io.out.valid := head.valid && open
  head.ready := spills || open && io.out.ready
  io.dropFull := RegNext(leaves && spills, false.B) +& fifo.io.droppedOverflow
  io.busy := RegNext(frames =/= 0.U || arrived, false.B)
}

object FragmentRing {

  /** More than a fragment takes from its look-up into the ring, unless the path stalls. */
  val hopeCycles: Int = 512
}
