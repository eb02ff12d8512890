// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.cipher

import chisel3._
import chisel3.util._
import sallyport.common.clock.ClockGate

/** The input of a [[ChaChaPipe]]. */
class ChaChaBlock extends Bundle {
  val key = UInt(256.W)
  val nonce = UInt(96.W)
  val counter = UInt(32.W)
}

/**
 * The block function of ChaCha20 (RFC 8439 2.3), feed-forward, no stall: 64 bytes of key stream
 * every 4 cycles, each block with its own key, nonce and counter. Byte 0 of key, nonce and result
 * is in bits 7:0.
 *
 * A block passes four times through a loop of 11 stages: a register where it enters or comes round,
 * and five rounds of two stages each. 11 is odd, so blocks that enter every 4 cycles, always in the
 * same phase of the clock, never meet one that comes round. An assertion refuses any that would.
 * Five rounds end on the other kind of round than they began with; [[ChaCha.exchange]] on the way
 * back to the entry makes every pass the same.
 *
 * Latency is [[ChaChaPipe.latency]] cycles. The input waits in a ring of rows for the
 * final addition.
 *
 * The clock stops while the pipe is empty. While `wipe` is high zeros enter and the pipe forgets
 * its contents; after [[ChaChaPipe.latency]] such cycles no register and no row of the ring holds
 * a secret.
 */
class ChaChaPipe extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new ChaChaBlock))
    val wipe = Input(Bool())
    val out = Valid(UInt(512.W))
  })

  // Bit i: a block entered i + 1 cycles ago.
  private val flight = Wire(UInt(ChaChaPipe.latency.W))
  private val running = ClockGate(clock, io.in.valid || io.wipe || reset.asBool || flight.orR)

  withClock(running) {
    flight := RegNext(Mux(io.wipe, 0.U, Cat(flight.tail(1), io.in.valid)), 0.U)
    val again = (1 until ChaChaPipe.passes).map(pass => flight(pass * ChaChaPipe.stages - 1)).reduce(_ || _)
    val leaves = flight(ChaChaPipe.passes * ChaChaPipe.stages - 1)
    assert(!(again && io.in.valid))

    val back = Wire(Vec(16, UInt(32.W)))
    val variable = Cat(io.in.bits.nonce, io.in.bits.counter, io.in.bits.key)
    val fresh = VecInit(ChaCha.constants ++ ChaCha.words(variable))
    val entry = RegNext(Mux(io.wipe, 0.U.asTypeOf(back), Mux(again, back, fresh)))
    val end = (0 until ChaChaPipe.stages - 1).foldLeft(entry) { (state, half) =>
      RegNext(VecInit(ChaCha.halfRound(state, diagonal = half / 2 % 2 == 1, second = half % 2 == 1)))
    }
    back := ChaCha.exchange(end)

    // Blocks leave in the order in which they came; at most one a stage is in the loop.
    val ring = Mem(ChaChaPipe.rows, UInt(384.W))
    val writeRow = RegInit(0.U(log2Ceil(ChaChaPipe.rows).W))
    val readRow = RegInit(0.U(log2Ceil(ChaChaPipe.rows).W))
    when(io.in.valid || io.wipe) {
      ring(writeRow) := Mux(io.wipe, 0.U, variable)
      writeRow := writeRow + 1.U
    }
    when(io.wipe) { readRow := writeRow + 1.U }.elsewhen(leaves) { readRow := readRow + 1.U }

    val before = ChaCha.constants ++ ChaCha.words(ring(readRow))
    io.out.bits := RegNext(Cat(back.zip(before).map { case (a, b) => a + b }.reverse))
    io.out.valid := flight(ChaChaPipe.latency - 1)
  }
}

object ChaChaPipe {
  private val passes = 4
  private val stages = 11
  private val rows = 16

  /** Cycles from `in` to `out`. */
  val latency: Int = passes * stages + 1
}
