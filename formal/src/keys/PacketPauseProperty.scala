// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.keys

import chisel3._
import sallyport.crypto.keys.PacketPause
import sallyport.formal.harness.{Bug, Claim, Property}

class PacketPauseProperty
    extends Property(
      Claim(
        proves = "While software's access is at a table, no packet is between its key and its number, and none begins.",
        clause = "RFC 4106 3.1, PacketPause",
        bug = Bug("PacketPause", raw"io_drained \?", "1'h1 ?"),
        assumes = Seq(
          "No packet begins in a cycle after one with `hold`, a register of PacketHeads' user: EncryptFetch, DecryptFetch.",
          "`drained` is low from the cycle after a packet begins until it has its number: `keyed` of the two."
        ),
        depth = 4,
        reach = 16
      )
    ) {
  private val dut = Module(new PacketPause)
  private val cycles = 6
  private val asks = any(Bool())
  dut.io.in.request.valid := asks
  dut.io.in.request.bits := 0.U.asTypeOf(dut.io.in.request.bits)
  dut.io.out.request.ready := any(Bool())
  dut.io.out.response.valid := any(Bool())
  dut.io.out.response.bits := 0.U.asTypeOf(dut.io.out.response.bits)
  dut.io.may := any(Bool())

  // As the fetches have it.
  private val held = RegNext(dut.io.hold, false.B)
  private val begins = any(Bool())
  assume(!(begins && held))
  private val keyed = RegInit(0.U(cycles.W))
  keyed := keyed(cycles - 2, 0) ## begins
  dut.io.drained := keyed === 0.U

  private val atTable = RegInit(false.B)
  when(dut.io.out.response.valid && atTable) { atTable := false.B }
  when(dut.io.out.request.fire) { atTable := true.B }
  when(dut.io.out.request.valid || atTable) { assert(keyed === 0.U && !begins && dut.io.hold) }

  // States: 0 idle, 1 holding, 2 settling, 3 draining, 4 offer, 5 waiting.
  private val state = spy("dut.state", 3)
  assert(state <= 5.U && atTable === (state === 5.U))
  assert(state < 2.U || held)
  assert(state < 3.U || !keyed(0))
  assert(state < 4.U || keyed === 0.U)
  cover(atTable && before(dut.io.out.request.fire))
  cover(state === 3.U && keyed =/= 0.U)
}
