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
 * is sent at once, filled with idle units. Latency 3 cycles. Stalls when the output does.
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

  private val slice = Module(new RegisterSlice(UInt(wordBits.W)))
  io.out <> slice.io.out
  private val go = slice.io.in.ready

  // Stage 1 decides, and puts a header in front of its payload. `filled` units, at most a piece,
  // wait in the buffer once all before is done; 8 or more of them are a word that can go.
  private val piece = io.in.bits
  private val alone = Wire(UInt(pieceBits.W))
  alone := piece.header
  private val filled = RegInit(0.U(4.W))
  private val hasHeader = RegInit(false.B)
  private val open = RegInit(false.B)
  private val over = filled(3)
  io.in.ready := go && !over

  private val taken = io.in.valid && !over
  private val fresh = piece.first && hasHeader
  private val total = filled(2, 0) +& piece.units
  private val spills = !fresh && total >= 8.U
  private val flushes = !io.in.valid && !over && !open

  // Stage 2 does it to the buffer. It keeps its units, or has those of the piece, low or high ones.
  private class Step extends Bundle {
    val leaves = Bool()
    val merges = Bool()
    val keeps = Bool()
    val low = Bool()
    val high = Bool()
    val drops = Bool()
  }
  private val step = RegInit(0.U.asTypeOf(new Step))
  private val shift = Reg(UInt(3.W))
  private val data = Reg(UInt(pieceBits.W))
  private val buffer = RegInit(0.U(pieceBits.W))

  when(go) {
    step.leaves := over || taken && (fresh || spills) || flushes && filled =/= 0.U
    step.merges := taken && !fresh
    step.keeps := !over && !flushes && !(taken && (fresh || spills))
    step.low := taken && !spills
    step.high := taken && spills
    step.drops := over
    when(io.in.valid) {
      shift := Mux(fresh, 0.U, filled(2, 0))
      data := Mux(
        piece.first,
        if (withSequence) Mux(piece.packet, Cat(piece.data, piece.sequence, piece.header), alone)
        else Cat(piece.data, piece.header),
        piece.data
      )
    }
    when(over) {
      filled := filled - 8.U
      hasHeader := false.B
    }.elsewhen(io.in.valid) {
      open := !piece.last
      filled := Mux(fresh, piece.units, Cat(total(4), total(2, 0)))
      hasHeader := fresh || !spills && (hasHeader || piece.first)
    }.elsewhen(!open) {
      filled := 0.U
      hasHeader := false.B
    }
  }

  private val shifted = (data << Cat(shift, 0.U(6.W)))(pieceBits + 7 * 64 - 1, 0)
  slice.io.in.valid := step.leaves
  slice.io.in.bits := buffer(wordBits - 1, 0) | Mux(step.merges, shifted(wordBits - 1, 0), 0.U)
  when(go) {
    buffer := Mux(step.keeps, buffer, 0.U) | Mux(step.low, shifted(pieceBits - 1, 0), 0.U) |
      Mux(step.high, shifted >> wordBits, 0.U) | Mux(step.drops, buffer >> wordBits, 0.U)
  }
}
