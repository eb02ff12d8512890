// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mac

import chisel3._
import chisel3.util._
import sallyport.common.clock.QuietClock
import sallyport.common.queue.PriorityFrameFifo
import sallyport.common.registers.CounterBank
import sallyport.common.stream.{MacBeat, PacketStream}
import sallyport.iface.parse.PriorityClass

/** The facts about a frame once its last beat is in. */
class RxMeta extends Bundle {

  /** Bytes without the FCS. */
  val length = UInt(PacketStream.lengthBits.W)
}

/**
 * What happened on the receive side in one cycle; each frame raises `rxFrames` once and at most
 * one of the drops once.
 */
class MacReceiveEvents extends Bundle {
  val rxFrames = Bool()

  /** With `rxFrames`: bytes of the frame, FCS included (16383 of one that is longer); else 0. */
  val rxBytes = UInt(CounterBank.incrementBits.W)
  val dropNotReady = Bool()
  val dropBadFcs = Bool()
  val dropUndersize = Bool()
  val dropOversize = Bool()
  val dropOverflow = Bool()
  val dropPriorityOverflow = Bool()

  /** The queue of high frames has taken one. */
  val priority = Bool()
}

/**
 * From the MAC to a packet stream: good frames of legal length pass, the others are dropped whole.
 *
 * A frame that raised the MAC's error counts as bad FCS whatever its length; then below 60 B (64
 * with FCS, IEEE 802.3 4A.2.9.2) undersize, above 9596 B oversize, and a frame that is good but
 * finds no room overflow. A frame that starts while `enable` is low is dropped as not ready. Never
 * stalls the MAC: a beat every cycle, a one-beat frame every cycle.
 *
 * Two queues ([[PriorityFrameFifo]]): what [[PriorityClass]] takes for high passes the other frames
 * that wait, and finds room whatever they fill; its own overflow is counted apart.
 *
 * Store and forward. Latency: 5 cycles from the last beat in to the first beat out, of either
 * class. The length is known with the first beat of `out`.
 *
 * @param beats         receive queue in 64-byte beats, a power of two
 * @param priorityBeats the same of high frames
 */
class MacReceive(beats: Int, priorityBeats: Int) extends Module {
  for (queue <- Seq(beats, priorityBeats))
    require(
      queue * PacketStream.dataBytes >= PacketStream.maxFrameBytes,
      s"a receive queue of $queue beats does not hold a frame of ${PacketStream.maxFrameBytes} B: make it longer"
    )

  val io = IO(new Bundle {
    val mac = Flipped(Valid(new MacBeat))
    val enable = Input(Bool())

    /** Bit n: packets of DSCP n are high. */
    val priorityDscps = Input(UInt(PriorityClass.dscps.W))
    val out = PacketStream(new RxMeta)
    val events = Output(new MacReceiveEvents)
  })

  // Stage 1: the beat as it came, and the beats before it in its frame (enough for 16383 B).
  private val beat1 = RegNext(io.mac.bits)
  private val valid1 = RegNext(io.mac.valid, false.B)
  private val before1 = RegInit(0.U(9.W))
  private val enabled = Reg(Bool())
  private val enabled1 = Mux(before1 === 0.U, io.enable, enabled)
  when(valid1) {
    before1 := Mux(beat1.last, 0.U, Mux(before1.andR, before1, before1 + 1.U))
    enabled := enabled1
  }

  // Stage 2: what the MAC left above `bytes` is cleared, the frame is judged at its last beat.
  private val fullBeat = PacketStream.dataBytes.U(7.W)
  private val bytes1 = Mux(beat1.last, beat1.bytes, fullBeat)
  private val keep = ((1.U(65.W) << bytes1) - 1.U)(PacketStream.dataBytes - 1, 0)
  private val length1 = Cat(before1, 0.U(6.W)) +& bytes1
  private val whole = MacReceive.maxBytes / PacketStream.dataBytes
  private val rest = MacReceive.maxBytes % PacketStream.dataBytes

  private val write = Reg(chiselTypeOf(io.out.bits))
  private val writeValid = RegNext(valid1 && enabled1, false.B)
  write.data := beat1.data & FillInterleaved(8, keep)
  write.last := beat1.last
  write.bytes := bytes1
  write.meta.length := length1(PacketStream.lengthBits - 1, 0)

  private val end1 = valid1 && beat1.last
  private val undersize1 = before1 === 0.U && bytes1 < MacReceive.minBytes.U
  private val oversize1 = before1 > whole.U || (before1 === whole.U && bytes1 > rest.U)
  write.error := beat1.error || undersize1 || oversize1

  // Two stages as well, beside these.
  private val priority = Module(new PriorityClass)
  require(PriorityClass.latency == 2, "the class of a frame comes with its first beat at the queues")
  priority.io.beat := io.mac
  priority.io.marked := io.priorityDscps

  private val fifo = QuietClock.around(new PriorityFrameFifo(new RxMeta, beats, priorityBeats), cycles = 16)(fifo =>
    fifo.io.in.valid || fifo.io.out.valid
  )
  fifo.io.high := priority.io.high
  fifo.io.in.valid := writeValid
  fifo.io.in.bits := write
  io.out <> fifo.io.out

  private def pulse(condition: Bool): Bool = RegNext(condition, false.B)
  private val judged = end1 && enabled1
  io.events.rxFrames := pulse(end1)
  private val frameBytes1 = length1 + MacReceive.fcsBytes.U
  private val most = ((1 << CounterBank.incrementBits) - 1).U
  io.events.rxBytes := RegNext(
    Mux(end1, Mux(frameBytes1 > most, most, frameBytes1(CounterBank.incrementBits - 1, 0)), 0.U),
    0.U
  )
  io.events.dropNotReady := pulse(end1 && !enabled1)
  io.events.dropBadFcs := pulse(judged && beat1.error)
  io.events.dropUndersize := pulse(judged && !beat1.error && undersize1)
  io.events.dropOversize := pulse(judged && !beat1.error && oversize1)
  io.events.dropOverflow := fifo.io.droppedOverflow
  io.events.dropPriorityOverflow := fifo.io.droppedHighOverflow
  io.events.priority := fifo.io.storedHigh
}

object MacReceive {
  val fcsBytes: Int = 4

  /** Legal frames without their FCS. */
  val minBytes: Int = 60
  val maxBytes: Int = PacketStream.maxFrameBytes - fcsBytes
}
