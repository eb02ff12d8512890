// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.queue

import chisel3._
import sallyport.common.queue.RingQueue
import sallyport.formal.harness.{Bug, Claim}

class RingQueueProperty
    extends QueueProperty(
      Claim(
        proves = "A ring queue of 4 gives what it took, once and in order, and overwrites nothing.",
        clause = "RingQueue",
        bug = Bug("RingQueue", raw"some \| ~io_out_ready", "some"),
        assumes = Seq(
          "No entry comes while 4 are inside: the users of RingQueue count (OrderArbiter: `packets`).",
          "`clear` stays low: the users in the crypto chip tie it."
        )
      ),
      places = 4
    ) {
  private val dut = Module(new RingQueue(item, 4))
  dut.io.in.valid := in.valid
  dut.io.in.bits := in.bits
  dut.io.clear := false.B
  in.ready := true.B
  out <> dut.io.out
  assume(!in.valid || count < 4.U)

  private val fresh = spy("dut.fresh")
  private val stored = spy("dut.count", 3)
  private val read = spy("dut.read", 2)
  assert(count === stored +& fresh && count <= 4.U)
  assert(spy("dut.some") === (stored =/= 0.U) && out.valid === (count =/= 0.U))
  assert(spy("dut.write", 2) === read + stored(1, 0))
  when(fresh) { holds(stored, spy("dut.freshBits", 3)) }
  for (row <- 0 until 4) {
    val place = (row.U - read)(1, 0)
    when(place < stored) { holds(place, spy(s"dut.ring_ext.Memory[$row]", 3)) }
  }
}
