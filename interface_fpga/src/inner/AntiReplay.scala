package sallyport.iface

import chisel3._
import chisel3.util._

/** A packet whose ICV is good, on its way past the window of its SA. */
class ReplayQuery(saBits: Int) extends Bundle {
  val sa = UInt(saBits.W)
  val sequence = UInt(64.W)

  /** The SA's window in packets, 64 to 1024 (RFC 4303 3.4.3: 32 at least, 64 by default). */
  val window = UInt(16.W)
}

/**
 * Checks and updates the anti-replay windows of all SAs (RFC 4303 3.4.3, after the ICV is verified).
 *
 * A packet left of the window is too old; one whose number was received before, or is 0, is replayed; any other is marked
 * received. A pipeline without stalls: a query every second cycle, all of one SA if need be, answered in order
 * [[AntiReplay.latency]] cycles later. Results that are not in the memory yet are forwarded to queries of the same SA.
 *
 * `clear` starts an SA anew; it comes while no query is under way. After reset every SA is cleared, one a cycle; `ready`
 * is high when that is done. Queries before are an error of the user's.
 */
class AntiReplay(saBits: Int) extends Module {
  require(saBits >= 1 && saBits <= 16, s"an SA index has 1 to 16 bits, not $saBits")

  val io = IO(new Bundle {
    val query = Flipped(Valid(new ReplayQuery(saBits)))
    val verdict = Valid(new ReplayWindow.Verdict)
    val clear = Flipped(Valid(UInt(saBits.W)))
    val ready = Output(Bool())
  })

  private val stateBits = (new ReplayState).getWidth
  private val memory = SyncReadMem(1 << saBits, UInt(stateBits.W))

  /** A state that is complete, and the SA it belongs to. */
  private class Result extends Bundle {
    val valid = Bool()
    val sa = UInt(saBits.W)
    val state = new ReplayState
  }

  // Stages 0 to 3: read, with two output registers behind the memory.
  private val read3 = RegNext(RegNext(memory.read(io.query.bits.sa, io.query.valid)))
  private val valid = Seq.iterate(io.query.valid, 6)(RegNext(_, false.B))
  private val sa3 = ShiftRegister(io.query.bits.sa, 3)
  private val sa4 = RegNext(sa3)
  private val sa5 = RegNext(sa4)
  private val request4 = ShiftRegister(ReplayWindow.Request(io.query.bits.sequence, io.query.bits.window), 4)

  // The last two results. A read misses what is written in its own cycle or later; queries two cycles apart or more
  // finish at most one other result between that write and stage 3.
  private val last = RegInit(0.U.asTypeOf(new Result))
  private val older = RegInit(0.U.asTypeOf(new Result))

  // Stage 3: the memory's state or a newer one. The query two cycles ahead is not done yet: stage 4 takes its result.
  private def matches(result: Result): Bool = result.valid && result.sa === sa3
  private val state4 = RegNext(
    Mux(matches(last), last.state, Mux(matches(older), older.state, read3.asTypeOf(new ReplayState)))
  )
  private val forward4 = RegNext(valid(5) && sa5 === sa3, false.B)

  // Stage 4: compare. Stage 5: verdict and new state.
  private val comparison5 = RegNext(ReplayWindow.compare(Mux(forward4, last.state, state4), request4))
  private val (verdict, state) = ReplayWindow.update(comparison5)
  when(valid(5)) {
    older := last
    last.valid := true.B
    last.sa := sa5
    last.state := state
  }
  io.verdict.valid := RegNext(valid(5), false.B)
  io.verdict.bits := RegNext(verdict)

  // Writes: results, and zeros for new SAs.
  private val sweep = RegInit(0.U((saBits + 1).W))
  private val sweeping = !sweep(saBits)
  when(sweeping)(sweep := sweep + 1.U)
  private val clears = sweeping || io.clear.valid
  private val written = RegNext(valid(5), false.B)
  private val row = Mux(sweeping, sweep(saBits - 1, 0), Mux(io.clear.valid, io.clear.bits, last.sa))
  when(clears || written)(memory.write(row, Mux(clears, 0.U, last.state.asUInt)))
  when(clears) {
    last.valid := false.B
    older.valid := false.B
  }
  io.ready := !sweeping

  private val busy = valid.reduce(_ || _) || written
  assert(!(io.query.valid && valid(1)), "anti-replay queries are at least two cycles apart")
  assert(!(busy && clears), "an SA is cleared while queries are under way")
}

object AntiReplay {
  val latency: Int = 6
}
