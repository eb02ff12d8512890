// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.stream

import chisel3._
import sallyport.common.stream.{StreamHarness, StreamMatrix}

class PacketSteerSpec extends StreamMatrix {
  private val meta = UInt(2.W)

  test("packets go where they are sent, whole and in order; those sent nowhere go") {
    for (output <- 0 to 1)
      checkMatrix(
        new StreamHarness(meta, meta)(h => {
          val steer = Module(new PacketSteer(meta, 2))
          steer.io.in <> h.in
          steer.io.select := VecInit.tabulate(2)(i => h.in.bits.meta === (i + 1).U).asUInt
          h.out <> steer.io.out(output)
          steer.io.out(1 - output).ready := true.B
        }),
        seeds = Seq(1)
      )(packet => Option.when(packet.meta == output + 1)(packet).toSeq)
  }
}
