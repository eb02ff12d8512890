// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.queue

import chisel3._
import sallyport.common.stream.SkidBuffer
import sallyport.formal.harness.{Bug, Claim}

class SkidBufferProperty
    extends QueueProperty(
      Claim(
        proves = "A skid buffer gives what it took, once and in order.",
        clause = "SkidBuffer",
        bug = Bug("SkidBuffer", raw"io_in_ready = ~full", "io_in_ready = 1'h1")
      ),
      places = 1,
      flows = true
    ) {
  private val dut = Module(new SkidBuffer(item))
  dut.io.in <> in
  out <> dut.io.out
  assert(count === spy("dut.full"))
  holds(0.U, spy("dut.kept", 3))
}
