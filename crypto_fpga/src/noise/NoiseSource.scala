// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.noise

import chisel3._
import chisel3.util._
import sallyport.common.registers.EventQueue
import sallyport.common.registers.map.CryptoRegs

/**
 * Raw bits of the board's noise chip for the management CPU, as long as [[HealthTests]] find
 * them good.
 *
 * A sample of `noise` (any clock's, synchronised here) every `sampleCycles`; 32 of them are a word,
 * the first in bit 0; up to [[NoiseSource.words]] words wait, and while they do, samples are tested
 * and thrown away. A word is erased when it is taken. A failed test and `erase` (the keys are
 * erased) throw away what waits, and a failed one lets nothing come until `restart` and a window of
 * good samples.
 */
class NoiseSource(p: NoiseConfig) extends Module {
  val io = IO(new Bundle {
    val noise = Input(Bool())
    val pop = Input(Bool())
    val restart = Input(Bool())
    val erase = Input(Bool())

    /** As NOISE_STATUS. */
    val status = Output(UInt(32.W))

    /** The oldest word, 0 if there is none. */
    val word = Output(UInt(32.W))
  })

  private val synchronised = RegNext(RegNext(io.noise, false.B), false.B)
  private val (_, takes) = Counter(true.B, p.sampleCycles)

  private val tests = Module(new HealthTests(p))
  tests.io.in.valid := takes
  tests.io.in.bits := synchronised
  tests.io.restart := io.restart
  private val good = tests.io.good

  // A sample waits a cycle for the verdict on it.
  private val sample = RegNext(synchronised)
  private val sampled = RegNext(takes, false.B) && good
  private val shift = RegInit(0.U(31.W))
  private val bits = RegInit(0.U(5.W))
  private val words = RegInit(VecInit.fill(NoiseSource.words)(0.U(32.W)))
  private val level = RegInit(0.U(log2Ceil(NoiseSource.words + 1).W))

  private val pops = io.pop && level =/= 0.U
  private val full = level === NoiseSource.words.U
  private val whole = sampled && !full && bits === 31.U
  when(sampled && !full) {
    shift := Mux(whole, 0.U, sample ## shift(30, 1))
    bits := bits + 1.U
  }
  private val after = level - pops
  for (i <- 0 until NoiseSource.words) {
    val next = if (i + 1 < NoiseSource.words) words(i + 1) else 0.U
    when(pops)(words(i) := next)
    when(whole && after === i.U)(words(i) := sample ## shift)
  }
  level := after + whole
  when(io.erase || io.restart || !good) {
    shift := 0.U
    bits := 0.U
    words.foreach(_ := 0.U)
    level := 0.U
  }

  private val fields = CryptoRegs.NoiseStatus
  io.status := EventQueue.show(
    fields.words -> level,
    fields.good -> good,
    fields.repetitionFailed -> tests.io.repetitionFailed,
    fields.proportionFailed -> tests.io.proportionFailed
  )
  io.word := words.head
}

object NoiseSource {

  /** Words that wait for software. */
  val words: Int = 8
}
