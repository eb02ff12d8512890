// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tfc

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketBeat, PacketStream, RegisterSlice}

/**
 * Traffic flow confidentiality padding of the sender (RFC 4303 2.7): a packet that is shorter than
 * its `least` gets zeros behind it up to that length, any other passes as it is.
 *
 * A beat a cycle; each beat that padding adds takes one more cycle. Latency 1 cycle. Stalls only
 * when `out` does or while it adds beats. Drops nothing; `error` is passed on. `in.ready` and every
 * output come from registers.
 *
 * @param meta    what travels beside a packet
 * @param length  a packet's bytes on the stream, from its metadata
 * @param least   its least length in units of 4 bytes; 0 for no least length
 * @param resized metadata of a packet that was padded, from its old metadata and its new length
 *   in bytes
 */
class TfcPadder[M <: Data](meta: M)(length: M => UInt, least: M => UInt)(resized: (M, UInt) => M) extends Module {
  import TfcPadder._

  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val out = PacketStream(meta)
  })

  private val slice = Module(new RegisterSlice(new PacketBeat(meta)))
  io.out <> slice.io.out
  private val out = slice.io.in

  private val first = RegInit(true.B)

  /** Beats of the padded packet behind this one. */
  private val left = Reg(UInt((unitsBits - unitsPerBeatBits).W))

  // The packet ended and its last beat was not the padded packet's: what the further ones have
  // beside them.
  private val adds = RegInit(false.B)
  private val addedError = Reg(Bool())
  private val addedMeta = Reg(meta.cloneType)

  private val beat = io.in.bits
  private val units = least(beat.meta)
  private val pads = (length(beat.meta) >> unitBytesBits) < units
  private val behind = Mux(first, (units - 1.U) >> unitsPerBeatBits, left)
  private val lastBytes = ((Mux(adds, least(addedMeta), units) - 1.U)(unitsPerBeatBits - 1, 0) +& 1.U) << unitBytesBits

  io.in.ready := out.ready && !adds
  out.valid := io.in.valid || adds
  out.bits := beat
  when(adds) {
    out.bits.data := 0.U
    out.bits.last := left === 0.U
    out.bits.bytes := Mux(left === 0.U, lastBytes, PacketStream.dataBytes.U)
    out.bits.error := addedError && left === 0.U
    out.bits.meta := padded(addedMeta)
  }.elsewhen(pads) {
    out.bits.last := behind === 0.U
    out.bits.bytes := Mux(behind === 0.U, lastBytes, PacketStream.dataBytes.U)
    out.bits.error := beat.error && behind === 0.U
    out.bits.meta := padded(beat.meta)
  }

  private def padded(of: M): M = resized(of, least(of) << unitBytesBits)

  when(out.fire) {
    left := Mux(adds, left, behind) - 1.U
    when(adds) {
      adds := left =/= 0.U
    }.otherwise {
      first := beat.last
      adds := beat.last && pads && behind =/= 0.U
      addedError := beat.error
      addedMeta := beat.meta
    }
  }
  assert(!(io.in.fire && pads && !beat.last) || behind =/= 0.U, "a packet is longer than its metadata say")
}

object TfcPadder {

  /** Lengths are in units of 4 bytes, as ESP is aligned. */
  val unitBytes: Int = 4
  val unitsBits: Int = PacketStream.lengthBits - log2Ceil(unitBytes)
  private val unitBytesBits = log2Ceil(unitBytes)
  private val unitsPerBeatBits = log2Ceil(PacketStream.dataBytes / unitBytes)
}
