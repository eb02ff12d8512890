// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.clock.ClockGate

/**
 * A compression on its way: working variables, and the 16 words of the message schedule that
 * come next.
 */
case class HashWords(variables: Seq[UInt], schedule: Seq[UInt])

/**
 * A compression function on big-endian words of 32 bits, cut into stages of a loop that a block
 * passes four times. So a quarter of the hardware takes a block every 4 cycles, which is 128 bits
 * a cycle.
 */
trait HashLoop {

  /** 1 modulo 4: then blocks that enter every 4 cycles never meet one that comes round. */
  def stages: Int

  /**
   * Register stages behind the loop, 1 to 3, another number for each hash, so that results of two
   * never meet.
   */
  def phase: Int

  /** Words of the state. */
  def words: Int

  /** What a block meets between two registers; `stage` from 0, `pass` 0 to 3. */
  def step(stage: Int, pass: UInt, in: HashWords): HashWords

  /**
   * The feed-forward: a word of the new state, from what the loop gives and the word of the
   * old state.
   */
  def finish(after: UInt, before: UInt): UInt

  /** Cycles from `in` to `out`. */
  def latency: Int = 4 * stages + phase
}

class HashPipePorts extends Bundle {
  val in = Flipped(Valid(new Bundle { val state = UInt(256.W); val block = UInt(512.W) }))

  /**
   * While high, zeros enter and the pipe forgets its contents; after `latency` cycles no register
   * holds a secret.
   */
  val wipe = Input(Bool())
  val out = Valid(UInt(256.W))
}

/**
 * Runs a compression function, feed-forward and with no stall: `out` is compress(state, block)
 * `latency` cycles after `in`. A block every 4 cycles, always in the same phase of the clock.
 *
 * State and result are byte strings as the digest is written, byte 0 in bits 7:0; a shorter one is
 * in the low bits. The state that came in waits for the end in a ring of rows, one for each block
 * that the loop can hold. The clock stops while the pipe is empty.
 */
abstract class HashPipe(loop: HashLoop) extends Module {
  require(loop.stages % 4 == 1, s"a loop of ${loop.stages} stages meets its own blocks: make it 1 modulo 4")
  require(loop.phase >= 1 && loop.phase <= 3, s"results leave 1 to 3 stages behind the loop, not ${loop.phase}")

  val io = IO(new HashPipePorts)

  private val busy = Wire(Bool())
  private val running = ClockGate(clock, io.in.valid || io.wipe || reset.asBool || busy)

  withClock(running) {
    // Where blocks are: in the stages but the last, in the last with passes to go or none, and
    // behind the loop.
    val inside = RegInit(0.U((loop.stages - 1).W))
    val again = RegInit(false.B)
    val leaves = RegInit(false.B)
    val behind = RegInit(0.U(loop.phase.W))
    val ends = inside.head(1).asBool
    val passes = Wire(Vec(loop.stages, UInt(2.W)))
    inside := Mux(io.wipe, 0.U, Cat(inside, again || io.in.valid).tail(1))
    again := !io.wipe && ends && passes.last =/= 3.U
    leaves := !io.wipe && ends && passes.last === 3.U
    behind := Mux(io.wipe, 0.U, Cat(behind, leaves).tail(1))
    busy := inside.orR || again || leaves || behind.orR
    assert(!(again && io.in.valid))

    // The pass of the block before each stage; a block that has done its last, and no block at all,
    // count as 0.
    passes.head := RegNext(Mux(ends, passes.last + 1.U, 0.U), 0.U)
    passes.tail.zip(passes).foreach { case (now, before) => now := RegNext(before) }

    val back = Wire(Vec(loop.words + 16, UInt(32.W)))
    val fresh = VecInit(HashPipe.words(io.in.bits.state).take(loop.words) ++ HashPipe.words(io.in.bits.block))
    val entry = Mux(again, back, Mux(io.wipe, 0.U.asTypeOf(fresh), fresh))
    val (first, message) = entry.splitAt(loop.words)
    val end = passes.zipWithIndex.foldLeft(HashWords(first, message)) { case (in, (pass, stage)) =>
      val out = loop.step(stage, pass, in)
      HashWords(out.variables.map(HashPipe.register), out.schedule.map(HashPipe.register))
    }
    back := end.variables ++ end.schedule

    // The state waits; blocks leave in the order in which they came.
    val ring = Mem(loop.stages, UInt((32 * loop.words).W))
    val writeRow = RegInit(0.U(log2Ceil(loop.stages).W))
    val readRow = RegInit(0.U(log2Ceil(loop.stages).W))
    def next(row: UInt) = Mux(row === (loop.stages - 1).U, 0.U, row + 1.U)
    when(io.in.valid || io.wipe) {
      ring(writeRow) := Mux(io.wipe, 0.U, io.in.bits.state(32 * loop.words - 1, 0))
      writeRow := next(writeRow)
    }
    when(io.wipe) { readRow := next(writeRow) }.elsewhen(leaves) { readRow := next(readRow) }

    val result = end.variables.zip(HashPipe.words(ring(readRow))).map { case (after, before) =>
      loop.finish(after, before)
    }
    io.out.bits := ShiftRegister(HashPipe.pack(result), loop.phase)
    io.out.valid := behind.head(1).asBool
  }
}

object HashPipe {

  /** A word a cycle later. RegNext would leave the width open, and rotations need it. */
  private def register(word: UInt): UInt = {
    val register = Reg(UInt(32.W))
    register := word
    register
  }

  /** A byte string as big-endian words, and back. */
  def words(bytes: UInt): Seq[UInt] =
    Seq.tabulate(bytes.getWidth / 32)(i => WireOrder.bigEndian(bytes(32 * i + 31, 32 * i)))
  def pack(words: Seq[UInt]): UInt = Cat(words.map(WireOrder.bigEndian).reverse)
}
