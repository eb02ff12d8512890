// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.queue

import chisel3._
import sallyport.common.stream.RegisterSlice
import sallyport.formal.harness.{Bug, Claim}

class RegisterSliceProperty
    extends QueueProperty(
      Claim(
        proves = "A register slice gives what it took, once, in order, and unchanged while it waits.",
        clause = "RegisterSlice, and the handshake rule at PacketBeat",
        bug = Bug("RegisterSlice", raw"skidValid \? skid : io_in_bits", "io_in_bits")
      ),
      places = 2
    ) {
  private val dut = Module(new RegisterSlice(item))
  dut.io.in <> in
  out <> dut.io.out

  private val outValid = spy("dut.outValid")
  private val skidValid = spy("dut.skidValid")
  assert(count === outValid +& skidValid && (outValid || !skidValid))
  holds(0.U, spy("dut.out", 3))
  holds(1.U, spy("dut.skid", 3))
}
