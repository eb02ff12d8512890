// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.queue

import chisel3._
import chisel3.util._
import sallyport.common.stream.{NoMeta, PacketArbiter}
import sallyport.formal.harness.{Bug, Claim, Property}

/** Two inputs. Bit 0 of a beat says which it came by. */
class PacketArbiterProperty
    extends Property(
      Claim(
        proves = "Packets that meet leave one after the other: no beat of one comes between two of another.",
        clause = "PacketArbiter",
        bug = Bug("PacketArbiter", raw"~inPacket & ", ""),
        depth = 2,
        reach = 8
      )
    ) {
  private val dut = Module(new PacketArbiter(new NoMeta, 2))
  for ((in, n) <- dut.io.in.zipWithIndex) {
    val beat = any(Valid(chiselTypeOf(in.bits)))
    in.valid := beat.valid
    in.bits := beat.bits
    assume(beat.bits.data(0) === n.U)
  }
  dut.io.out.ready := any(Bool())
  private val out = dut.io.out

  private val open = RegInit(false.B)
  private val from = Reg(Bool())
  when(out.fire) {
    open := !out.bits.last
    from := out.bits.data(0)
  }
  when(out.valid && open) { assert(out.bits.data(0) === from) }

  // The same of the two beats that wait, and of the input that is granted.
  private def follow(place: String, valid: Bool, open: Bool, from: Bool): (Bool, Bool) = {
    val mark = spy(s"dut.slice.${place}_data", 512)(0)
    assert(!valid || !open || mark === from)
    (Mux(valid, !spy(s"dut.slice.${place}_last"), open), Mux(valid, mark, from))
  }
  private val outValid = spy("dut.slice.outValid")
  private val skidValid = spy("dut.slice.skidValid")
  private val (openOut, fromOut) = follow("out", outValid, open, from)
  private val (openIn, fromIn) = follow("skid", skidValid, openOut, fromOut)
  private val grant = spy("dut.grant", 2)
  assert(outValid || !skidValid)
  assert(PopCount(grant) === 1.U && spy("dut.inPacket") === openIn)
  assert(!openIn || grant(1) === fromIn)
  cover(out.fire && open && from)
  cover(out.fire && !open && before(out.fire && out.bits.last) && out.bits.data(0) =/= from)
}
