// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.queue

import chisel3._
import sallyport.common.queue.MemoryQueue
import sallyport.formal.harness.{Bug, Claim}

/** PacketQueue is this queue; FrameFifo and LinkRxBuffer have their descriptors in one. */
class MemoryQueueProperty
    extends QueueProperty(
      Claim(
        proves = "A queue in block memory of 2 rows, with its slice, gives what it took, once and in order.",
        clause = "MemoryQueue, ReadSlice",
        bug = Bug("ReadSlice", raw"~two \| io_out_ready", "1'h1")
      ),
      places = 4
    ) {
  private val dut = Module(new MemoryQueue(item, 2))
  dut.io.in <> in
  out <> dut.io.out

  private val inFlight = spy("dut.slice.inFlight")
  private val outValid = spy("dut.slice.slice.outValid")
  private val skidValid = spy("dut.slice.slice.skidValid")
  private val stored = dut.io.count
  private val ahead = inFlight +& outValid +& skidValid
  assert(count === stored +& ahead)
  assert(ahead <= 2.U && spy("dut.slice.one") === (ahead =/= 0.U) && spy("dut.slice.two") === (ahead === 2.U))
  assert(outValid || !skidValid)
  assert(spy("dut.some") === (stored =/= 0.U) && stored <= 2.U)
  private val read = spy("dut.read", 1)
  assert(spy("dut.write") === (read(0) ^ stored(0)))
  holds(0.U, Mux(outValid, spy("dut.slice.slice.out", 3), spy("dut.memory_ext.R0_data", 3)))
  when(skidValid) { holds(1.U, spy("dut.slice.slice.skid", 3)) }
  when(inFlight) { holds(outValid +& skidValid, spy("dut.memory_ext.R0_data", 3)) }
  for (row <- 0 until 2) {
    val place = (row.U - read)(0)
    when(place < stored) { holds(ahead + place, spy(s"dut.memory_ext.Memory[$row]", 3)) }
  }
}
