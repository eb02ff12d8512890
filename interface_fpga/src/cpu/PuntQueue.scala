// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import chisel3._
import chisel3.util._
import sallyport.common.clock.CycleCounter
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.common.registers.map.PuntHeader
import sallyport.common.stream.{ConnectStream, HeaderPrepend, NoMeta, PacketStream}

/** Why a frame goes to the management CPU. */
class PuntMeta extends Bundle {

  /** A value of [[sallyport.common.registers.map.PuntReason]]. */
  val reason = UInt(8.W)

  /** The inbound SA that a decrypted packet came by; else 0. */
  val sa = UInt(PuntHeader.sa.width.W)

  /** The management CPU itself has injected it. */
  val injected = Bool()

  /** It came out of a tunnel, for another one. */
  val hairpin = Bool()

  /** The packet's, of the inner chip. */
  val network = UInt(PuntHeader.network.width.W)
}

/** What happened at the punt queue in one cycle. */
class PuntEvents extends Bundle {

  /** A frame has left for the management CPU: the bit of its reason. */
  val punted = UInt(PuntGroups.reasons.W)

  /** The policer has refused a frame: the bit of its trap group. */
  val refused = UInt((1 << PuntGroups.bits).W)
  val dropOverflow = Bool()
}

/** What the queue keeps of a frame until its header is written. */
class PuntRecord extends Bundle {
  val meta = new PuntMeta
  val group = UInt(PuntGroups.bits.W)
  val length = UInt(PacketStream.lengthBits.W)
  val cycles = UInt(64.W)
}

/**
 * The way of frames to the management CPU: a policer for each trap group ([[PuntGroups]]), then a
 * frame FIFO that drops when it is full, so that a flood or a dead CPU never holds up traffic, then
 * the punt header in front (docs/reference/chip-ports.md).
 *
 * `in` is always ready. A frame that its group's policer refuses is dropped whole (`refused`), and
 * so is one that finds no room (`dropOverflow`; it has cost its group a token); every other one
 * raises the bit of its reason when its last beat is taken. The header's time is the cycle, since
 * reset, in which the frame's last beat came to `in`. Latency 6 cycles from that to the first beat
 * at `out`; a header that pushes the frame's end into a further beat costs a cycle.
 *
 * @param port   of the header: where the frames come in
 * @param groups trap groups of this port, values of PuntGroup; the user must send no frame of
 *   another group
 * @param beats  FIFO depth in 64-byte beats
 */
class PuntQueue(port: Int, groups: Seq[Int], beats: Int) extends Module {
  val io = IO(new Bundle {
    val limits = Input(Vec(groups.length, new TokenLimit))
    val in = Flipped(PacketStream(new PuntMeta))
    val out = PacketStream(new NoMeta)
    val events = Output(new PuntEvents)

    /** The chip's cycles since reset, for other modules that need the time. */
    val cycles = Output(UInt(64.W))
  })

  private val counter = Module(new CycleCounter)
  io.cycles := counter.io.value

  // Stage 1: the policer is asked with the last beat.
  io.in.ready := true.B
  private val valid1 = RegNext(io.in.valid, false.B)
  private val beat1 = RegNext(io.in.bits)
  private val group1 = RegNext(PuntGroups(io.in.bits.meta))
  private val cycles1 = RegNext(counter.io.value)
  private val before1 = RegInit(0.U((PacketStream.lengthBits - log2Ceil(PacketStream.dataBytes)).W))
  when(valid1)(before1 := Mux(beat1.last, 0.U, before1 + 1.U))

  private val end1 = RegNext(io.in.valid && io.in.bits.last, false.B)
  private val policers = Module(new TokenBuckets(groups.length))
  policers.io.limits := io.limits
  policers.io.request.valid := end1
  policers.io.request.bits := RegNext(PuntGroups.place(io.in.bits.meta, groups))
  assert(
    !end1 || VecInit(groups.map(_.U === group1)).asUInt.orR,
    "a punted frame is of a trap group that this port does not have"
  )

  // Stage 2: its answer is there, and a refused frame is broken for the FIFO.
  private val fifo = Module(new FrameFifo(new PuntRecord, FrameFifoParams(beats, WhenFull.Drop)))
  private val last2 = RegNext(end1, false.B)
  private val group2 = RegNext(group1)
  private val refused2 = last2 && !policers.io.granted
  private val beat2 = RegNext(beat1)
  fifo.io.in.valid := RegNext(valid1, false.B)
  fifo.io.in.bits.data := beat2.data
  fifo.io.in.bits.last := beat2.last
  fifo.io.in.bits.bytes := beat2.bytes
  fifo.io.in.bits.error := refused2
  fifo.io.in.bits.meta.meta := beat2.meta
  fifo.io.in.bits.meta.group := group2
  fifo.io.in.bits.meta.length := RegNext((before1 ## 0.U(6.W)) + beat1.bytes)
  fifo.io.in.bits.meta.cycles := RegNext(cycles1)

  // The header, its highest byte first.
  private val prepend = Module(new HeaderPrepend(Seq(PuntQueue.headerBytes), new PuntMeta))
  ConnectStream(prepend.io.in, fifo.io.out) { (header, record) =>
    val fields = Seq(
      PuntHeader.port -> port.U,
      PuntHeader.reason -> record.meta.reason,
      PuntHeader.group -> record.group,
      PuntHeader.length -> record.length,
      PuntHeader.sa -> record.meta.sa,
      PuntHeader.injected -> record.meta.injected,
      PuntHeader.hairpin -> record.meta.hairpin,
      PuntHeader.network -> record.meta.network,
      PuntHeader.cycles -> record.cycles
    )
    val number = fields.map { case (field, value) => (value.pad(field.width) << field.lsb).pad(PuntHeader.bits) }
    header.bytes := Cat(number.reduce(_ | _).asTypeOf(Vec(PuntQueue.headerBytes, UInt(8.W))))
    header.select := 0.U
    header.length := PuntQueue.headerBytes.U
    header.drop := false.B
    header.meta := record.meta
  }
  ConnectStream(io.out, prepend.io.out)((_, _) => ())

  private val left = RegNext(io.out.fire && io.out.bits.last, false.B)
  private val reason = RegNext(prepend.io.out.bits.meta.reason)
  io.events.punted := VecInit.tabulate(PuntGroups.reasons)(i => left && reason === i.U).asUInt
  io.events.refused := RegNext(Mux(refused2, UIntToOH(group2, 1 << PuntGroups.bits), 0.U), 0.U)
  io.events.dropOverflow := fifo.io.droppedOverflow
}

object PuntQueue {
  val headerBytes: Int = PuntHeader.bits / 8
}
