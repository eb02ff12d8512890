package sallyport.crypto

import chisel3._
import sallyport.common.ClockGate

/** The clock of a feed-forward pipe, which stops while the pipe is empty. */
private[crypto] object PipeClock {

  /**
   * Elaborates `body` on that clock.
   *
   * @param in
   *   something enters; `body` gets this bit after 1 to `latency` cycles, the last being the valid bit of the result
   * @param wipe
   *   keeps the clock alive, so that zeros can follow what the pipe holds
   */
  def apply(in: Bool, wipe: Bool, latency: Int)(body: Seq[Bool] => Unit): Unit = {
    val valids = Wire(Vec(latency, Bool()))
    val running = ClockGate(Module.clock, in || wipe || Module.reset.asBool || valids.asUInt.orR)
    withClock(running) {
      valids.zip(in +: valids.init).foreach { case (now, before) => now := RegNext(before, false.B) }
      body(valids)
    }
  }
}
