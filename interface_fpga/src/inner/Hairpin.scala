// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.NetworkRow
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.common.stream.{ConnectStream, PacketStream}
import sallyport.iface.receive.WholeMeta
import sallyport.iface.tracking.UpperFields

/** What the encrypt path has to know of a decrypted packet for another tunnel. */
class HairpinMeta extends Bundle {

  /** That of the SA by which it came. */
  val network = UInt(NetworkRow.network.width.W)

  /** Of a fragment the fields of its datagram's first one, if they are known. */
  val upper = Valid(new UpperFields)
}

/** What happened at [[Hairpin]] in one cycle; each frame raises one of these once. */
class HairpinEvents extends Bundle {
  val sent = Bool()
  val dropClosed = Bool()
  val dropOverflow = Bool()
}

/**
 * The way of decrypted packets for another tunnel: from the decrypt path into the encrypt path of
 * the same chip, as frames that have not come from the port.
 *
 * `in` is always ready: a frame that finds no room is dropped whole, so a stalled encrypt path does
 * not hold up decryption. A frame that ends while `enable` is low is dropped: the encrypt path's
 * policies may be incomplete then. At `out` a frame is without gaps once it has begun. Latency 5
 * cycles from a frame's last beat to its first at `out`.
 *
 * @param beats the queue in 64-byte beats, a power of two
 */
class Hairpin(beats: Int) extends Module {
  val io = IO(new Bundle {

    /** The encrypt path takes frames. */
    val enable = Input(Bool())

    val in = Flipped(PacketStream(new HairpinMeta))
    val out = PacketStream(new WholeMeta)
    val events = Output(new HairpinEvents)
  })
  io.in.ready := true.B
  private val valid = RegNext(io.in.valid, false.B)
  private val beat = RegNext(io.in.bits)
  private val before = RegInit(0.U((PacketStream.lengthBits - log2Ceil(PacketStream.dataBytes)).W))
  when(valid)(before := Mux(beat.last, 0.U, before + 1.U))
  private val closed = !RegNext(io.enable, false.B)

  private val fifo = Module(new FrameFifo(new WholeMeta, FrameFifoParams(beats, WhenFull.Drop)))
  fifo.io.in.valid := valid
  fifo.io.in.bits.data := beat.data
  fifo.io.in.bits.last := beat.last
  fifo.io.in.bits.bytes := beat.bytes
  fifo.io.in.bits.error := beat.last && closed
  private val meta = fifo.io.in.bits.meta
  meta := 0.U.asTypeOf(meta)
  meta.length := Cat(before, 0.U(log2Ceil(PacketStream.dataBytes).W)) + beat.bytes
  meta.injected := true.B
  meta.tunnel.valid := true.B
  meta.tunnel.bits := beat.meta.network
  meta.upper := beat.meta.upper
  ConnectStream(io.out, fifo.io.out)(_ := _)

  io.events.sent := RegNext(io.out.fire && io.out.bits.last, false.B)
  io.events.dropClosed := fifo.io.droppedError
  io.events.dropOverflow := fifo.io.droppedOverflow
}
