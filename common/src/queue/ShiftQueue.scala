// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._

/**
 * A queue of a few narrow entries in a shift register: `in.ready`, `out.valid` and the bits are
 * registers themselves, with no pointer to decode behind them.
 *
 * One transfer a cycle. Latency 1 cycle. Never drops. Costs a LUT for each bit of each entry, so it
 * is for decisions, not for data.
 */
class ShiftQueue[T <: Data](gen: T, entries: Int) extends Module {
  require(entries >= 2, s"ShiftQueue of $entries entries: make it 2 or more")

  val io = IO(new Bundle {
    val in = Flipped(Decoupled(gen))
    val out = Decoupled(gen)
  })

  private val valid = RegInit(VecInit.fill(entries)(false.B))
  private val bits = Reg(Vec(entries, gen))
  private val room = RegInit(true.B)
  private val comes = io.in.fire
  private val goes = io.out.fire
  io.in.ready := room
  io.out.valid := valid.head
  io.out.bits := bits.head

  for (i <- 0 until entries) {
    val (before, behind) = (if (i == 0) true.B else valid(i - 1), if (i == entries - 1) false.B else valid(i + 1))
    when(comes =/= goes) { valid(i) := Mux(comes, before, behind) }
    when(goes || !valid(i)) { bits(i) := (if (i == entries - 1) io.in.bits else Mux(behind, bits(i + 1), io.in.bits)) }
  }
  when(comes =/= goes) { room := Mux(comes, !valid(entries - 2), true.B) }
}
