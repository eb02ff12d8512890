// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import sallyport.common.stream.{PacketBeat, PacketStream}

/**
 * Store-and-forward FIFO of two queues of packets: between two packets, one that waits in the high
 * queue leaves before any of the low queue. Packets of one queue keep their order, and each leaves
 * whole, even if high packets come meanwhile.
 *
 * A packet goes into the queue that `high` names, which is the same on each of its beats. Each
 * queue is a [[FrameStore]] of its own that drops when it is full, so a full low queue costs no
 * high packet, and a full high one no low packet. Never stalls: `in.ready` is constant. Drops,
 * whole: a packet whose last beat has `error` (`droppedError`); one that does not fit its queue
 * (`droppedOverflow`, `droppedHighOverflow`). One pulse a packet, in the cycle after its last beat,
 * and one of `storedHigh` for each packet that the high queue takes. A packet that has an error and
 * does not fit counts as an error.
 *
 * A high packet waits for the packets before it in its queue, the rest of one low packet and 2
 * beats. Low packets wait as long as there are high ones: the module that marks packets has to
 * leave room.
 *
 * One beat a cycle, and a one-beat packet every cycle, whichever queues they are in, but for 2
 * cycles when a queue that filled is empty again ([[MemoryQueue]]). From last input beat to first
 * output beat: 3 cycles when nothing waits, as of [[FrameFifo]]. Every output comes from registers.
 * Metadata as in [[FrameFifo]].
 *
 * @param beats     rows of the low queue's memory, a power of two
 * @param highBeats rows of the high queue's memory, a power of two
 */
class PriorityFrameFifo[M <: Data](meta: M, beats: Int, highBeats: Int) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val high = Input(Bool())
    val out = PacketStream(meta)
    val storedHigh = Output(Bool())
    val droppedError = Output(Bool())
    val droppedOverflow = Output(Bool())
    val droppedHighOverflow = Output(Bool())
  })

  private val low = Module(new FrameStore(meta, FrameFifoParams(beats, WhenFull.Drop)))
  private val high = Module(new FrameStore(meta, FrameFifoParams(highBeats, WhenFull.Drop)))
  for ((store, chosen) <- Seq(low -> !io.high, high -> io.high)) {
    store.io.in.valid := io.in.valid && chosen
    store.io.in.bits := io.in.bits
  }
  io.in.ready := true.B
  io.storedHigh := high.io.stored
  io.droppedError := low.io.droppedError || high.io.droppedError
  io.droppedOverflow := low.io.droppedOverflow
  io.droppedHighOverflow := high.io.droppedOverflow

  // Whose packet is being read; between two packets, whose is next. A store whose packet is being
  // read is waiting, so something is to be read whenever either is.
  private val inPacket = RegInit(false.B)
  private val inHigh = Reg(Bool())
  private val chooseHigh = Mux(inPacket, inHigh, high.io.waiting)

  private val slice = Module(new ReadSlice(new PacketBeat(meta)))
  slice.io.want := low.io.waiting || high.io.waiting
  low.io.read := slice.io.read && !chooseHigh
  high.io.read := slice.io.read && chooseHigh
  when(slice.io.read) {
    inPacket := !Mux(chooseHigh, high.io.ends, low.io.ends)
    inHigh := chooseHigh
  }
  slice.io.data := Mux(RegNext(chooseHigh), high.io.beat, low.io.beat)
  slice.io.pass.valid := false.B
  slice.io.pass.bits := DontCare
  io.out <> slice.io.out
}
