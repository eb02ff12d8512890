// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.queue.{FrameReader, MemoryQueue}
import sallyport.common.stream.{FrameDescriptor, PacketStream}

/**
 * Receive buffer of a link: beats are written as they come, packets leave once they are committed.
 *
 * Beats of packets that are not committed yet follow each other in the ring; `restart` goes back to
 * the end of the last committed packet and forgets them. A beat that finds no room is not written
 * and pulses `full` (the credits keep a good sender from that). One beat a cycle in and out, a
 * commit every cycle; 3 cycles from commit to first beat out.
 */
class LinkRxBuffer(beats: Int) extends Module {
  private val pointerBits = log2Ceil(beats)

  val io = IO(new Bundle {
    val write = Flipped(Valid(UInt(PacketStream.dataBits.W)))
    val full = Output(Bool())
    val commit = Flipped(Valid(new FrameDescriptor(new LinkMeta, pointerBits)))
    val restart = Input(Bool())

    /** A beat is read and its place free. */
    val freed = Output(Bool())
    val out = PacketStream(new LinkMeta)
  })

  private val memory = SyncReadMem(beats, UInt(PacketStream.dataBits.W))
  private val descriptors = Module(new MemoryQueue(new FrameDescriptor(new LinkMeta, pointerBits), beats))
  private val reader = Module(new FrameReader(new LinkMeta, beats))
  private val write = RegInit(0.U((pointerBits + 1).W))
  private val committed = RegInit(0.U((pointerBits + 1).W))

  io.full := io.write.valid && (write ^ reader.io.pointer) === beats.U
  when(io.write.valid && !io.full) {
    memory.write(write(pointerBits - 1, 0), io.write.bits)
    write := write + 1.U
  }
  when(io.commit.valid) { committed := committed + io.commit.bits.beats }
  when(io.restart) { write := committed }
  assert(!(io.restart && (io.write.valid || io.commit.valid)))

  descriptors.io.in.valid := io.commit.valid
  descriptors.io.in.bits := io.commit.bits
  assert(!io.commit.valid || descriptors.io.in.ready)
  reader.io.descriptors <> descriptors.io.out
  reader.io.data := memory.read(reader.io.address, reader.io.read)
  io.freed := RegNext(reader.io.read, false.B)
  io.out <> reader.io.out
}
