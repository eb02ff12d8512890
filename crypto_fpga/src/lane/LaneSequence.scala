package sallyport.crypto

import chisel3._
import chisel3.util._

/**
 * The steps of all packets of a lane, one a cycle: those of [[StreamSequence]] and of [[ChainSequence]] in turn while both
 * have one, so that neither kind of suite holds up the other.
 *
 * Ciphers differ in latency. A step waits a cycle if it would meet an earlier one behind the ciphers.
 *
 * `op` is a register; nothing stalls it.
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

  // When did a step of each latency begin? The lowest bit is the cycle before.
  private val latencies = LaneCipher.latencies(config)
  private val valid = Wire(Bool())
  private val bits = Wire(new LaneOp(config))
  private def has(latency: Int)(suite: Suite): Boolean = LaneCipher.latency(suite) == latency
  private val begun = latencies.tail.map { latency =>
    val past = RegInit(0.U((latency - latencies.head).W))
    past := (past ## (valid && Suite.is(bits.suite)(has(latency))))(past.getWidth - 1, 0)
    latency -> past
  }
  private def free(suite: UInt): Bool = !latencies.map { latency =>
    val meets = begun.collect { case (longer, past) if longer > latency => past(longer - latency - 1) }
    Suite.is(suite)(has(latency)) && meets.foldLeft(false.B)(_ || _)
  }.reduce(_ || _)

  private val streamValid = stream.io.op.valid && free(stream.io.op.bits.suite)
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
    val chainValid = chain.io.op.valid && free(chain.io.op.bits.suite)
    val chainFirst = RegInit(false.B)
    val takesChain = chainValid && (chainFirst || !streamValid)
    chain.io.op.ready := takesChain
    stream.io.op.ready := streamValid && !takesChain
    when(chainValid && streamValid) { chainFirst := !chainFirst }
    valid := chainValid || streamValid
    bits := Mux(takesChain, chain.io.op.bits, stream.io.op.bits)
  } else {
    stream.io.op.ready := streamValid
    valid := streamValid
    bits := stream.io.op.bits
  }
  io.op.valid := RegNext(valid && !io.clear, false.B)
  io.op.bits := RegNext(bits)
}
