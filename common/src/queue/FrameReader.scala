// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._
import sallyport.common.stream.{FrameCursor, FrameDescriptor, PacketBeat, PacketStream}

/**
 * Read side of a packet buffer: plays the packets that `descriptors` names out of a ring memory,
 * in order.
 *
 * One beat a cycle, and a one-beat packet every cycle; 3 cycles from descriptor to first beat,
 * registered output.
 */
class FrameReader[M <: Data](meta: M, beats: Int) extends Module {
  private val pointerBits = log2Ceil(beats)

  val io = IO(new Bundle {
    val descriptors = Flipped(Decoupled(new FrameDescriptor(meta, pointerBits)))

    /** Read port of the memory: data one cycle after `read`. */
    val read = Output(Bool())
    val address = Output(UInt(pointerBits.W))
    val data = Input(UInt(PacketStream.dataBits.W))

    /** Beats read so far, modulo twice the memory: `read` frees its row from the next cycle on. */
    val pointer = Output(UInt((pointerBits + 1).W))
    val out = PacketStream(meta)
  })

  private val cursor = Module(new FrameCursor(meta, beats))
  cursor.io.descriptors <> io.descriptors
  cursor.io.data := io.data
  io.address := cursor.io.address
  io.pointer := cursor.io.pointer

  private val slice = Module(new ReadSlice(new PacketBeat(meta)))
  slice.io.want := cursor.io.waiting
  cursor.io.read := slice.io.read
  io.read := slice.io.read
  slice.io.data := cursor.io.beat
  slice.io.pass.valid := false.B
  slice.io.pass.bits := DontCare
  io.out <> slice.io.out
}
