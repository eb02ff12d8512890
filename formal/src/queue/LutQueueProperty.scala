// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.queue

import chisel3._
import sallyport.common.queue.LutQueue
import sallyport.formal.harness.{Bug, Claim}

class LutQueueProperty
    extends QueueProperty(
      Claim(
        proves = "A queue in LUT RAM of 4 gives what it took, once and in order, and is ready while it has room.",
        clause = "LutQueue",
        bug = Bug("LutQueue", raw"room <= goes", "room <= 1'h1")
      ),
      places = 4
    ) {
  private val dut = Module(new LutQueue(item, 4))
  dut.io.in <> in
  out <> dut.io.out
  private val read = spy("dut.read", 3)
  assert(spy("dut.write", 3) === read + count)
  assert(in.ready === (count =/= 4.U) && out.valid === (count =/= 0.U))
  for (row <- 0 until 4) holds(row.U - read(1, 0), spy(s"dut.places_ext.Memory[$row]", 3))
}
