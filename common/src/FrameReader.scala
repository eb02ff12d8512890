package sallyport.common

import chisel3._
import chisel3.util._

/** What a packet buffer knows of a packet whose beats stand in its memory, one after the other. */
class FrameDescriptor[M <: Data](metaType: M, pointerBits: Int) extends Bundle {
  val beats = UInt((pointerBits + 1).W)
  val lastBytes = UInt(7.W)
  val meta = metaType.cloneType
}

/**
 * Read side of a packet buffer: plays the packets that `descriptors` names out of a ring memory, in order.
 *
 * One beat a cycle, and a one-beat packet every cycle; 3 cycles from descriptor to first beat, registered output.
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

  private val head = SkidBuffer(io.descriptors)
  private val pointer = RegInit(0.U((pointerBits + 1).W))
  private val done = RegInit(1.U((pointerBits + 1).W))
  private val slice = Module(new ReadSlice(new PacketBeat(meta)))
  private val issue = slice.io.read
  private val issueLast = done === head.bits.beats
  head.ready := issue && issueLast
  when(issue) {
    pointer := pointer + 1.U
    done := Mux(issueLast, 1.U, done + 1.U)
  }
  io.read := issue
  io.address := pointer(pointerBits - 1, 0)
  io.pointer := pointer

  slice.io.want := head.valid
  slice.io.data.data := io.data
  slice.io.data.last := RegNext(issueLast)
  slice.io.data.bytes := RegNext(Mux(issueLast, head.bits.lastBytes, PacketStream.dataBytes.U))
  slice.io.data.error := false.B
  slice.io.data.meta := RegNext(head.bits.meta)
  slice.io.pass.valid := false.B
  slice.io.pass.bits := DontCare
  io.out <> slice.io.out
}
