// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.support

import chisel3._
import chisel3.simulator.PeekPokeAPI

/** Runs jobs through a feed-forward pipe. */
object PipeRun extends PeekPokeAPI {

  /**
   * One job (or none) a cycle goes in with `put`; `check` gets it back in the cycle in which its
   * result must be there. No result may come out in any other.
   */
  def apply[J](dut: Module, in: Bool, out: Bool, latency: Int, jobs: Seq[Option[J]])(put: J => Unit)(
      check: J => Unit
  ): Unit = {
    val all = jobs ++ Seq.fill(latency)(None)
    for ((job, cycle) <- all.zipWithIndex) {
      in.poke(job.isDefined)
      job.foreach(put)
      dut.clock.step()
      val due = all.lift(cycle + 1 - latency).flatten
      out.expect(due.isDefined)
      due.foreach(check)
    }
  }
}
