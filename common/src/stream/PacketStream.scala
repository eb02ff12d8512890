// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/** Widths of the packet stream, shared by every module of every chip. */
object PacketStream {
  val dataBits: Int = 512
  val dataBytes: Int = dataBits / 8

  /** Bytes of the longest Ethernet frame of a port, FCS included. */
  val maxFrameBytes: Int = 9600

  /** Bits that hold a packet's length in bytes. */
  val lengthBits: Int = 14

  def apply[M <: Data](meta: M): DecoupledIO[PacketBeat[M]] = Decoupled(new PacketBeat(meta))
}

/**
 * One beat of a packet; `Decoupled(new PacketBeat(meta))` is the packet stream.
 *
 * Handshake rule (AMBA AXI4-Stream, IHI 0051A 2.2.1): a producer's `valid` never depends on
 * `ready`; once `valid` is high, `valid` and every field stay as they are until `ready`; a
 * consumer's `ready` may depend on registers only, never on this stream's own `valid` or bits.
 *
 * Layout: each packet starts on a new beat with its byte 0 in `data(7, 0)`. Every beat but the last
 * is full. Bytes at and above `bytes` are zero, so that no stale byte of another packet can follow
 * one out of the chip.
 *
 * @param metaType what travels beside the packet: the same value on every beat of one packet
 */
class PacketBeat[M <: Data](metaType: M) extends Bundle {
  val data = UInt(PacketStream.dataBits.W)

  /** Last beat of the packet. */
  val last = Bool()

  /** Bytes of this beat that belong to the packet: 64 before the last beat, 1 to 64 on it. */
  val bytes = UInt(log2Ceil(PacketStream.dataBytes + 1).W)

  /**
   * With `last`: the packet is broken and the next frame FIFO drops it whole. Ignored before the
   * last beat.
   */
  val error = Bool()

  val meta = metaType.cloneType
}

/** Metadata of a stream that has none. */
class NoMeta extends Bundle
