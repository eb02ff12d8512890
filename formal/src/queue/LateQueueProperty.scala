// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.queue

import chisel3._
import chisel3.util._
import sallyport.common.queue.LateQueue
import sallyport.formal.harness.{Bug, Claim}

class LateQueueProperty
    extends QueueProperty(
      Claim(
        proves = "A queue of 4 whose source sends a word more after `stop` gives what it took, once, in order.",
        clause = "LateQueue; LaneWay and LaneIntake count in the same way",
        bug = Bug("LateQueue", raw"_outlet_io_places < 3'h3", "_outlet_io_places < 3'h2")
      ),
      places = 5
    ) {
  private val late = 1
  private val dut = Module(new LateQueue(item, 4, late))
  private val stop = dut.io.stop
  private val sent = RegInit(0.U(2.W))
  sent := Mux(stop, sent + in.fire, 0.U)
  in.ready := !stop || sent < late.U
  dut.io.in.valid := in.fire
  dut.io.in.bits := in.bits
  out <> dut.io.out

  private val free = spy("dut.outlet.free", 4)
  private val valid = spy("dut.outlet.valid")
  private val read = spy("dut.outlet.queue.deq_ptr_value", 2)
  private val full = spy("dut.outlet.queue.maybe_full")
  private val stored = 11.U - free
  assert(count === stored +& valid && sent <= late.U && free >= 7.U && free <= 11.U)
  assert(stop || stored <= 2.U)
  assert(!stop || stored <= 3.U +& sent)
  assert(valid || stored === 0.U)
  assert(spy("dut.outlet.queue.enq_ptr_value", 2) === read + stored(1, 0))
  assert((stored === 4.U && full) || (stored === 0.U && !full) || (stored =/= 0.U && stored =/= 4.U))
  when(valid) { holds(0.U, spy("dut.outlet.bits", 3)) }
  for (row <- 0 until 4) {
    val place = (row.U - read)(1, 0)
    when(place < stored) { holds(place + 1.U(3.W), spy(s"dut.outlet.queue.ram_ext.Memory[$row]", 3)) }
  }
}
