package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._

/** What happened at the punt queue in one cycle. */
class PuntEvents(reasons: Int) extends Bundle {

  /** A frame has left for the management CPU: the bit of its reason. */
  val punted = UInt(reasons.W)
  val dropOverflow = Bool()
}

/**
 * The way of frames to the management CPU: a frame FIFO that drops when it is full, so that a slow or dead CPU never holds
 * up traffic.
 *
 * `in` is always ready. A frame that finds no room is dropped whole (`dropOverflow`); every other one raises the bit of its
 * reason when its last beat is taken. Latency 3 cycles from a frame's last beat to its first.
 *
 * @param reasons number of punt reasons
 * @param beats   FIFO depth in 64-byte beats
 */
class PuntQueue(reasons: Int, beats: Int) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new PuntMeta))
    val out = PacketStream(new PuntMeta)
    val events = Output(new PuntEvents(reasons))
  })

  private val fifo = Module(new FrameFifo(new PuntMeta, FrameFifoParams(beats, WhenFull.Drop)))
  fifo.io.in <> io.in
  io.out <> fifo.io.out

  private val left = RegNext(io.out.fire && io.out.bits.last, false.B)
  private val reason = RegNext(io.out.bits.meta.reason)
  io.events.punted := VecInit.tabulate(reasons)(i => left && reason === i.U).asUInt
  io.events.dropOverflow := fifo.io.droppedOverflow
}
