// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketStream, RegisterSlice}

/**
 * A beat of a link frame on its way to the wire: payload, and on the first beat the header in
 * front of it.
 */
class LinkPiece extends Bundle {

  /** The frame starts here: `header` (and `sequence`) stand in front of the payload. */
  val first = Bool()

  /** The frame ends here. */
  val last = Bool()

  /** The frame is a packet, not a header alone. */
  val packet = Bool()
  val header = UInt(LinkFrame.headerBits.W)
  val sequence = UInt(64.W)

  /** Units in this beat, header, sequence number and payload; `data` is zero above its own. */
  val units = UInt(4.W)
  val data = UInt(PacketStream.dataBits.W)
}

/**
 * Packs frames into 512-bit words at 8-byte granularity, with at most one header start a word.
 *
 * Whenever the output takes a word and there is one, a word leaves. That is 1 word a cycle, and a
 * one-beat packet of 48 payload bytes or less every cycle. If no frame follows, the rest of a word
 * is sent at once, filled with idle units. Latency 2 cycles. Stalls when the output does.
 */
class LinkPacker(withSequence: Boolean) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Decoupled(new LinkPiece))
    val out = Decoupled(UInt(PacketStream.dataBits.W))
  })

  private val headUnits = if (withSequence) 3 else 2
  private val pieceUnits = 8 + headUnits
  private val pieceBits = 64 * pieceUnits
  private val wordBits = PacketStream.dataBits

  private val piece = io.in.bits
  private val pieceData = Wire(UInt(pieceBits.W))
  private val alone = Wire(UInt(pieceBits.W))
  alone := piece.header
  pieceData := Mux(
    piece.first,
    if (withSequence) Mux(piece.packet, Cat(piece.data, piece.sequence, piece.header), alone)
    else Cat(piece.data, piece.header),
    piece.data
  )
  private val count = piece.units

  // `filled` units wait in `buffer`, at most a piece; 8 or more of them are a word that can go.
  private val buffer = RegInit(0.U(pieceBits.W))
  private val filled = RegInit(0.U(4.W))
  private val hasHeader = RegInit(false.B)
  private val open = RegInit(false.B)

  private val slice = Module(new RegisterSlice(UInt(wordBits.W)))
  io.out <> slice.io.out
  private val go = slice.io.in.ready
  private val over = filled(3)
  io.in.ready := go && !over

  private val fresh = piece.first && hasHeader
  private val merged = Wire(UInt((pieceBits + 7 * 64).W))
  merged := buffer(wordBits - 1, 0) | (pieceData << Cat(filled(2, 0), 0.U(6.W)))(pieceBits + 7 * 64 - 1, 0)
  private val total = filled(2, 0) +& count

  slice.io.in.valid := over || (io.in.valid && (fresh || total >= 8.U)) || (!io.in.valid && filled =/= 0.U && !open)
  slice.io.in.bits := Mux(io.in.valid && !over && !fresh, merged(wordBits - 1, 0), buffer(wordBits - 1, 0))

  when(go) {
    when(over) {
      buffer := buffer >> wordBits
      filled := filled - 8.U
      hasHeader := false.B
    }.elsewhen(io.in.valid) {
      open := !piece.last
      when(fresh) {
        buffer := pieceData
        filled := count
        hasHeader := true.B
      }.elsewhen(total >= 8.U) {
        buffer := merged(pieceBits + 7 * 64 - 1, wordBits)
        filled := (total - 8.U)(3, 0)
        hasHeader := false.B
      }.otherwise {
        buffer := merged(pieceBits - 1, 0)
        filled := total(3, 0)
        hasHeader := hasHeader || piece.first
      }
    }.elsewhen(!open) {
      buffer := 0.U
      filled := 0.U
      hasHeader := false.B
    }
  }
}
