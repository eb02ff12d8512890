// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._
import sallyport.common.stream.{FrameCursor, FrameDescriptor, PacketBeat, PacketStream}

/**
 * The memory of a [[FrameFifo]] without its output: packets are written as they come, and can be
 * read once they are whole.
 *
 * Drops and stalls as [[FrameFifo]] says. Reading is [[FrameCursor]]'s contract: `waiting` rises in
 * the cycle after a packet's last beat, and `beat` is the beat read in the cycle before.
 */
class FrameStore[M <: Data](meta: M, params: FrameFifoParams) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val waiting = Output(Bool())

    /** With `waiting`: the beat to read is the last of its packet. */
    val ends = Output(Bool())
    val read = Input(Bool())
    val beat = Output(new PacketBeat(meta))

    /** One pulse a packet, in the cycle after its last beat. */
    val stored = Output(Bool())
    val droppedError = Output(Bool())
    val droppedOverflow = Output(Bool())
  })

  private val pointerBits = log2Ceil(params.beats)
  private val memory = SyncReadMem(params.beats, UInt(PacketStream.dataBits.W))
  private val descriptors = Module(new MemoryQueue(new FrameDescriptor(meta, pointerBits), params.frames))
  private val cursor = Module(new FrameCursor(meta, params.beats))

  // Write side: beats from `start` up to `write` belong to a packet that is not committed yet.
  private val write = RegInit(0.U((pointerBits + 1).W))
  private val start = RegInit(0.U((pointerBits + 1).W))
  private val doomed = RegInit(false.B)

  private val full = (write ^ cursor.io.pointer) === params.beats.U
  private val longerThanMemory = (write ^ start) === params.beats.U
  private val room = !full && descriptors.io.in.ready
  io.in.ready := (params.whenFull match {
    case WhenFull.Drop => true.B
    case WhenFull.Stall => room || longerThanMemory || doomed
  })

  private val last = io.in.fire && io.in.bits.last
  private val dropOverflow = doomed || !room
  private val commit = last && !dropOverflow && !io.in.bits.error
  when(io.in.fire) {
    when(!dropOverflow) {
      memory.write(write(pointerBits - 1, 0), io.in.bits.data)
    }
    when(io.in.bits.last) {
      doomed := false.B
      write := Mux(commit, write + 1.U, start)
    }.otherwise {
      doomed := dropOverflow
      write := Mux(dropOverflow, start, write + 1.U)
    }
  }
  when(commit) { start := write + 1.U }
  io.stored := RegNext(commit, false.B)
  io.droppedError := RegNext(last && io.in.bits.error, false.B)
  io.droppedOverflow := RegNext(last && dropOverflow && !io.in.bits.error, false.B)

  descriptors.io.in.valid := commit
  descriptors.io.in.bits.beats := write + 1.U - start
  descriptors.io.in.bits.lastBytes := io.in.bits.bytes
  descriptors.io.in.bits.meta := io.in.bits.meta

  cursor.io.descriptors <> descriptors.io.out
  cursor.io.data := memory.read(cursor.io.address, io.read)
  cursor.io.read := io.read
  io.waiting := cursor.io.waiting
  io.ends := cursor.io.ends
  io.beat := cursor.io.beat
}
