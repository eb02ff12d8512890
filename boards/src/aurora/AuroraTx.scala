// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.aurora

import chisel3._
import chisel3.util._
import sallyport.common.stream.RegisterSlice

/**
 * Sender of one channel, in its user clock: from reset `markers` markers ([[TrainingMarker]]), then
 * words, low beat first.
 *
 * After reset every beat that the core takes is a marker until all are sent; `done` says so. From
 * then on the core has a beat whenever there is a word: a word of one beat a cycle, a word of two
 * beats every other cycle. `beats` comes from registers; a reset may withdraw a beat that was not
 * taken, for the far end takes nothing for a word until it was trained again. Latency 1 cycle.
 *
 * @param wordBits 256 or 512
 * @param markers  a power of two, up to 65536
 */
class AuroraTx(wordBits: Int, channel: Int, markers: Int) extends Module {
  require(
    wordBits % AuroraPort.beatBits == 0 && wordBits / AuroraPort.beatBits <= 2,
    s"words of $wordBits bits: 256 or 512"
  )
  require(
    isPow2(markers) && log2Ceil(markers) <= TrainingMarker.countBits,
    s"$markers markers: a power of two up to 65536"
  )

  val io = IO(new Bundle {
    val words = Flipped(Decoupled(UInt(wordBits.W)))
    val beats = Decoupled(UInt(AuroraPort.beatBits.W))
    val done = Output(Bool())
  })

  private val slice = Module(new RegisterSlice(UInt(AuroraPort.beatBits.W)))
  io.beats <> slice.io.out

  // The bits of `left` count down to 0; the one above them is then borrowed from.
  private val left = RegInit((markers - 1).U((log2Ceil(markers) + 1).W))
  private val done = left.head(1).asBool
  when(slice.io.in.ready && !done) { left := left - 1.U }
  io.done := done

  private val isTwoBeats = wordBits > AuroraPort.beatBits
  private val upper = RegInit(false.B)
  if (isTwoBeats) when(slice.io.in.fire && done) { upper := !upper }
  private val beat =
    if (isTwoBeats) Mux(upper, io.words.bits.head(wordBits / 2), io.words.bits(wordBits / 2 - 1, 0)) else io.words.bits
  slice.io.in.valid := !done || io.words.valid
  slice.io.in.bits := Mux(done, beat, TrainingMarker(channel, left(log2Ceil(markers) - 1, 0)))
  io.words.ready := done && slice.io.in.ready && (if (isTwoBeats) upper else true.B)
}
