// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/** What a packet buffer knows of a packet whose beats stand in its memory, one after the other. */
class FrameDescriptor[M <: Data](metaType: M, pointerBits: Int) extends Bundle {
  val beats = UInt((pointerBits + 1).W)
  val lastBytes = UInt(7.W)
  val meta = metaType.cloneType
}

/**
 * Goes through the packets that `descriptors` names in a ring memory, in order, a beat for
 * each `read`.
 *
 * While `waiting` is high there is a beat to read. It rises in the cycle in which a descriptor
 * comes, and stays high until `read`. `beat` is the beat read in the cycle before. Never raise
 * `read` without `waiting`.
 */
class FrameCursor[M <: Data](meta: M, beats: Int) extends Module {
  private val pointerBits = log2Ceil(beats)

  val io = IO(new Bundle {
    val descriptors = Flipped(Decoupled(new FrameDescriptor(meta, pointerBits)))
    val waiting = Output(Bool())

    /** With `waiting`: the beat to read is the last of its packet. */
    val ends = Output(Bool())
    val read = Input(Bool())

    /** Read port of the memory: data one cycle after `read`. */
    val address = Output(UInt(pointerBits.W))
    val data = Input(UInt(PacketStream.dataBits.W))

    /** Beats read so far, modulo twice the memory: `read` frees its row from the next cycle on. */
    val pointer = Output(UInt((pointerBits + 1).W))
    val beat = Output(new PacketBeat(meta))
  })

  private val head = SkidBuffer(io.descriptors)
  private val pointer = RegInit(0.U((pointerBits + 1).W))
  private val done = RegInit(1.U((pointerBits + 1).W))
  private val ends = done === head.bits.beats
  head.ready := io.read && ends
  when(io.read) {
    pointer := pointer + 1.U
    done := Mux(ends, 1.U, done + 1.U)
  }
  io.waiting := head.valid
  io.ends := ends
  io.address := pointer(pointerBits - 1, 0)
  io.pointer := pointer

  io.beat.data := io.data
  io.beat.last := RegNext(ends)
  io.beat.bytes := RegNext(Mux(ends, head.bits.lastBytes, PacketStream.dataBytes.U))
  io.beat.error := false.B
  io.beat.meta := RegNext(head.bits.meta)
  assert(!io.read || io.waiting)
}
