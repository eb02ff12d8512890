// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.stream.SkidBuffer
import sallyport.crypto.suite.Suite

/**
 * The steps of all packets of a lane, one a cycle. While both have one, [[StreamSequence]] and
 * [[ChainSequence]] take turns, so that neither kind of suite holds up the other.
 *
 * Ciphers differ in latency. A step waits a cycle if it would meet an earlier one behind
 * the ciphers.
 *
 * `op` is a register; nothing stalls it. During `clear` the steps that wait are thrown away.
 */
class LaneSequence(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val start = Flipped(Valid(new LaneStart(config)))
    val length = Flipped(Valid(new LaneLength(config)))
    val entered = Input(UInt(LaneFrame.beatBits.W))
    val clear = Input(Bool())
    val op = Valid(new LaneOp(config))
  })

  private val stream = Module(new StreamSequence(config))
  stream.io.clear := io.clear
  stream.io.start := io.start
  stream.io.length := io.length
  stream.io.entered := io.entered

  private val latencies = LaneCipher.latencies(config)
  private def ofCipher(suite: UInt): UInt =
    VecInit(latencies.map(latency => Suite.is(suite)(LaneCipher.latency(_) == latency))).asUInt

  /** A step that may go, what its suite says of it decoded before it waits here. */
  private class Offer extends Bundle {
    val op = new LaneOp(config)
    val cipher = UInt(latencies.size.W)
    val launches = Bool()
  }
  private val valid = Wire(Bool())
  private val taken = Wire(new Offer)

  // When did a step of each latency begin? The lowest bit is the cycle before.
  private val begun = latencies.zipWithIndex.tail.map { case (latency, cipher) =>
    val past = RegInit(0.U((latency - latencies.head).W))
    past := (past ## (valid && taken.cipher(cipher)))(past.getWidth - 1, 0)
    latency -> past
  }
  private def free(cipher: UInt): Bool = {
    val meets = latencies.map { latency =>
      begun.collect { case (longer, past) if longer > latency => past(longer - latency - 1) }.foldLeft(false.B)(_ || _)
    }
    (cipher & VecInit(meets).asUInt) === 0.U
  }

  private def offer(op: DecoupledIO[LaneOp], launches: Bool): DecoupledIO[Offer] = {
    val offer = Wire(Decoupled(new Offer))
    offer.valid := op.valid
    op.ready := offer.ready
    offer.bits.op := op.bits
    offer.bits.cipher := ofCipher(op.bits.suite)
    offer.bits.launches := launches
    SkidBuffer(offer)
  }

  // ChaCha20 makes four blocks of key stream at a time, every 4 cycles, so steps that ask it for
  // more wait for its turn.
  private val phase = RegInit(0.U(2.W))
  phase := phase + 1.U
  private val streamed = offer(stream.io.op, stream.io.launches)
  private val streamValid = streamed.valid && free(streamed.bits.cipher) && (!streamed.bits.launches || phase === 0.U)
  if (config.encrypt && config.hasCbc) {
    val chain = Module(new ChainSequence(config))
    val chained = Suite.is(io.start.bits.suite)(_.cbc)
    stream.io.start.valid := io.start.valid && !chained
    // The length of a chained packet comes with its start.
    stream.io.length.valid := io.length.valid && !(io.start.valid && chained)
    chain.io.start := io.start
    chain.io.start.valid := io.start.valid && chained
    chain.io.textBytes := io.length.bits.textBytes
    chain.io.clear := io.clear
    val links = offer(chain.io.op, false.B)
    val chainValid = links.valid && free(links.bits.cipher)
    val chainFirst = RegInit(false.B)
    val takesChain = chainValid && (chainFirst || !streamValid)
    links.ready := takesChain
    streamed.ready := streamValid && !takesChain
    chain.io.issued.valid := takesChain
    chain.io.issued.bits := links.bits.op
    when(chainValid && streamValid) { chainFirst := !chainFirst }
    valid := chainValid || streamValid
    taken := Mux(takesChain, links.bits, streamed.bits)
  } else {
    streamed.ready := streamValid
    valid := streamValid
    taken := streamed.bits
  }
  io.op.valid := RegNext(valid && !io.clear, false.B)
  io.op.bits := RegNext(taken.op)
}
