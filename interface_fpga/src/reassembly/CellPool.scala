// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import sallyport.common.queue.MemoryQueue

/**
 * The free cells of the memory.
 *
 * `taken` gives one a cycle. `read` gives one back, any cycle; `discarded` gives all the cells of a
 * datagram back, one a cycle, and waits for `read`. Reset puts every cell in, one a cycle; `ready`
 * says when.
 *
 * `low` says, 3 cycles behind each of them, that fewer cells are free, or on their way here, than
 * the longest packet needs.
 */
class CellPool(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val ready = Output(Bool())
    val taken = Decoupled(UInt(p.cellBits.W))
    val read = Flipped(Valid(UInt(p.cellBits.W)))
    val discarded = Flipped(Decoupled(new CellList(p)))
    val low = Output(Bool())
  })

  private val filling = RegInit(0.U((p.cellBits + 1).W))
  private val held = RegInit(0.U(p.pages.W))
  private val cells = Reg(Vec(p.pages, UInt(p.cellBits.W)))
  private val queue = Module(new MemoryQueue(UInt(p.cellBits.W), p.cells))
  io.taken <> queue.io.out
  io.ready := filling(p.cellBits)
  // A register, for a record is written in the cycle in which its cells are taken.
  io.discarded.ready := RegNext(!held.orR && !io.discarded.fire, false.B)

  private val next = PriorityEncoderOH(held)
  private val returned = Wire(Valid(UInt(p.cellBits.W)))
  returned.valid := !io.ready || io.read.valid || held.orR
  returned.bits := Mux(io.ready, Mux(io.read.valid, io.read.bits, Mux1H(next, cells)), filling(p.cellBits - 1, 0))
  when(!io.ready) { filling := filling + 1.U }
  when(io.discarded.fire) {
    held := io.discarded.bits.held
    cells := io.discarded.bits.cells
  }.elsewhen(!io.read.valid) { held := held & ~next }

  // A cell's number rests here for a cycle, so that what gives it back does not reach into
  // the queue.
  private val last = RegNext(returned)
  queue.io.in.valid := RegNext(returned.valid, false.B)
  queue.io.in.bits := last.bits
  assert(!queue.io.in.valid || queue.io.in.ready, "more cells come back than there are")

  private val taken = RegNext(io.taken.fire, false.B)
  private val back = RegNext(
    Mux(io.ready, Mux(io.discarded.fire, PopCount(io.discarded.bits.held), 0.U), 1.U) + (io.ready && io.read.valid),
    0.U
  )
  private val free = RegInit(0.U((p.cellBits + 1).W))
  free := free + back - taken
  io.low := RegNext(free < p.pages.U, false.B)
}
