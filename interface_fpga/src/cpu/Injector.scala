// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import chisel3._
import chisel3.util._
import sallyport.common.queue.{FrameFifo, FrameFifoParams, WhenFull}
import sallyport.common.stream.{ConnectStream, NoMeta, PacketStream, RegisterSlice}
import sallyport.iface.headers.EthernetHeader
import sallyport.iface.mac.MacReceive

/**
 * What happened to injected frames in one cycle; each raises `frames` once and at most one of the
 * drops once.
 */
class InjectorEvents extends Bundle {
  val frames = Bool()
  val dropDisabled = Bool()
  val dropLength = Bool()
}

/**
 * The way of the management CPU's own frames to the port: kept until they are whole, and let go no
 * faster than a token bucket says.
 *
 * A frame of fewer than 14 or more than 9596 bytes, or one whose last beat has `error`, is dropped
 * as `dropLength`. Any other frame that ends while `enable` is low is dropped as `dropDisabled`.
 * The rest waits for a token of `limit` and leaves; `in` stalls when the buffer is full, which is
 * the CPU's affair alone. At `out` a frame is without gaps once it has begun.
 *
 * Latency 7 cycles from a frame's last beat to its first at `out`.
 *
 * @param meta    metadata at `out`
 * @param beats   buffer in 64-byte beats, a power of two
 * @param measure makes the metadata of a frame's length in bytes
 */
class Injector[M <: Data](meta: M, beats: Int)(measure: UInt => M) extends Module {
  require(
    beats * PacketStream.dataBytes >= PacketStream.maxFrameBytes,
    s"an injector of $beats beats does not hold a frame of ${PacketStream.maxFrameBytes} B"
  )

  val io = IO(new Bundle {
    val enable = Input(Bool())
    val limit = Input(new TokenLimit)
    val in = Flipped(PacketStream(new NoMeta))
    val out = PacketStream(meta)
    val events = Output(new InjectorEvents)
  })

  // Judged at the last beat.
  private val in = RegisterSlice(io.in)
  private val whole = MacReceive.maxBytes / PacketStream.dataBytes
  private val rest = MacReceive.maxBytes % PacketStream.dataBytes
  private val before = RegInit(0.U(log2Ceil(whole + 2).W))
  when(in.fire)(before := Mux(in.bits.last, 0.U, Mux(before > whole.U, before, before + 1.U)))
  private val length = in.bits.error || before === 0.U && in.bits.bytes < EthernetHeader.bytes.U ||
    before > whole.U || before === whole.U && in.bits.bytes > rest.U
  private val disabled = !RegNext(io.enable, false.B)

  private val fifo = Module(new FrameFifo(meta, FrameFifoParams(beats, WhenFull.Stall)))
  private val judged = Wire(PacketStream(meta))
  private val bytes = (before ## 0.U(log2Ceil(PacketStream.dataBytes).W)) + in.bits.bytes
  ConnectStream(judged, in)((to, _) => to := measure(bytes(PacketStream.lengthBits - 1, 0)))
  judged.bits.error := length || disabled
  fifo.io.in <> RegisterSlice(judged)

  // A frame asks for its token when it is first in the buffer.
  private val bucket = Module(new TokenBuckets(1))
  private val permit = RegInit(false.B)
  private val asked = RegInit(false.B)
  private val asks = fifo.io.out.valid && !permit && !asked
  asked := asks
  bucket.io.limits(0) := io.limit
  bucket.io.request.valid := asks
  bucket.io.request.bits := 0.U
  when(io.out.fire && io.out.bits.last)(permit := false.B).elsewhen(asked)(permit := bucket.io.granted)

  io.out.valid := fifo.io.out.valid && permit
  io.out.bits := fifo.io.out.bits
  fifo.io.out.ready := io.out.ready && permit

  private val end = in.fire && in.bits.last
  io.events.frames := RegNext(end, false.B)
  io.events.dropLength := RegNext(end && length, false.B)
  io.events.dropDisabled := RegNext(end && !length && disabled, false.B)
}

object Injector {

  /** One whose frames need no metadata. */
  def plain(beats: Int): Injector[NoMeta] = new Injector(new NoMeta, beats)(_ => Wire(new NoMeta))
}
