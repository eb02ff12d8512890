// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.noise

import chisel3._
import chisel3.util._

/**
 * The continuous health tests of a noise source of bits: repetition count and adaptive proportion
 * (NIST SP 800-90B 4.4.1, 4.4.2), with start-up tests (4.3): `good` rises after a window of samples
 * that passed, which are not to be used, and falls for good with the sample that fails a test;
 * `restart` forgets all and starts again.
 *
 * A sample in any cycle; the verdict on it in the next cycle.
 */
class HealthTests(p: NoiseConfig) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(Bool()))
    val restart = Input(Bool())
    val good = Output(Bool())
    val repetitionFailed = Output(Bool())
    val proportionFailed = Output(Bool())
  })

  private val started = RegInit(false.B)
  private val repetitionFailed = RegInit(false.B)
  private val proportionFailed = RegInit(false.B)

  // B of 4.4.1: equal samples on end. 0 before the first one.
  private val last = Reg(Bool())
  private val run = RegInit(0.U(log2Ceil(p.repetitions + 1).W))
  // Of 4.4.2: the first sample of the window, those that equal it, and how many there were.
  private val first = Reg(Bool())
  private val equal = RegInit(0.U(log2Ceil(p.window + 1).W))
  private val position = RegInit(0.U(log2Ceil(p.window).W))

  when(io.in.valid) {
    val sample = io.in.bits
    val runs = Mux(run =/= 0.U && sample === last, run + 1.U, 1.U)
    last := sample
    run := runs
    when(runs === p.repetitions.U) {
      repetitionFailed := true.B
      run := 1.U
    }

    val opens = position === 0.U
    val ends = position === (p.window - 1).U
    val equals = Mux(opens, 1.U, equal + (sample === first))
    when(opens)(first := sample)
    equal := equals
    position := Mux(ends, 0.U, position + 1.U)
    when(equals === p.proportion.U)(proportionFailed := true.B)
    when(ends)(started := true.B)
  }
  when(io.restart) {
    started := false.B
    repetitionFailed := false.B
    proportionFailed := false.B
    run := 0.U
    position := 0.U
  }

  io.repetitionFailed := repetitionFailed
  io.proportionFailed := proportionFailed
  io.good := started && !repetitionFailed && !proportionFailed
}
