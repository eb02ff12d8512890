// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.queue

import chisel3._
import chisel3.util._
import sallyport.common.queue.ShiftQueue
import sallyport.formal.harness.{Bug, Claim}

class ShiftQueueProperty
    extends QueueProperty(
      Claim(
        proves = "A shift queue of 4 gives what it took, once and in order, and is ready while it has room.",
        clause = "ShiftQueue",
        bug = Bug("ShiftQueue", raw"~comes \| ~valid_2", "~comes | ~valid_3")
      ),
      places = 4
    ) {
  private val dut = Module(new ShiftQueue(item, 4))
  dut.io.in <> in
  out <> dut.io.out
  assert(PopCount(Seq.tabulate(4)(i => spy(s"dut.valid_$i"))) === count)
  for (i <- 0 until 4) {
    assert(spy(s"dut.valid_$i") === i.U < count)
    holds(i.U, spy(s"dut.bits_$i", 3))
  }
  assert(in.ready === (count =/= 4.U))
}
