// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.aurora

import chisel3._
import chisel3.util._

/**
 * Receiver of one channel, in its user clock: finds its place by the far sender's markers
 * ([[AuroraTx]]), and makes words of the beats behind them.
 *
 * Before the first word nothing but markers comes: a sender has words only after its own receiver
 * has found its place, and both ends begin anew together, so no bytes of a stranger are ever looked
 * at for a marker. Beats that are no marker, or a damaged one, are counted on from the last good
 * one. Takes a beat in any cycle. Latency 4 cycles from the last beat of a word.
 */
class AuroraRx(wordBits: Int, channel: Int, markers: Int) extends Module {
  val io = IO(new Bundle {
    val beats = Flipped(Valid(UInt(AuroraPort.beatBits.W)))
    val words = Valid(UInt(wordBits.W))

    /** The place of the first word is known, or it has come. */
    val aligned = Output(Bool())
  })

  // A beat on its way beside the tests for a marker, a register at a time.
  private val came = ShiftRegister(io.beats.bits, 3)
  private val valid = Seq.iterate(RegNext(io.beats.valid, false.B), 3)(RegNext(_, false.B))
  private val parts = TrainingMarker.matches(channel, RegNext(io.beats.bits)).map(RegNext(_))
  private val isMarker = RegNext(valid(1) && parts.reduce(_ && _), false.B)

  // Markers that follow, good or bad.
  private val countBits = log2Ceil(markers)
  private val left = RegInit(0.U(countBits.W))
  private val aligned = RegInit(false.B)
  private val open = RegInit(false.B)
  private val ends = Mux(isMarker, came(countBits - 1, 0) === 0.U, aligned && left === 1.U)
  when(valid(2) && !open) {
    left := Mux(isMarker, came(countBits - 1, 0), left - 1.U)
    aligned := aligned || isMarker
    open := ends
  }
  io.aligned := aligned

  private val taken = valid(2) && open
  if (wordBits > AuroraPort.beatBits) {
    val upper = RegInit(false.B)
    val lower = RegEnable(came, taken)
    when(taken) { upper := !upper }
    io.words.valid := RegNext(taken && upper, false.B)
    io.words.bits := RegNext(came ## lower)
  } else {
    io.words.valid := RegNext(taken, false.B)
    io.words.bits := RegNext(came)
  }
}
