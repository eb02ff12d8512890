// SPDX-License-Identifier: Apache-2.0
package sallyport.common.queue

import chisel3._
import chisel3.util._
import sallyport.common.stream.RegisterSlice

/**
 * A first-in first-out queue in a block memory, with a register slice behind it.
 *
 * Sustains one transfer a cycle. Latency 1 cycle when it is empty (the memory is passed by), 3 when
 * it is not. `io.in.ready` and every output come from registers. The memory never reads a row in
 * the cycle that writes it, so it may be any kind of block RAM. Holds `entries` transfers, and two
 * more in the slice. Never drops.
 *
 * @param entries rows of the memory, a power of two
 */
class MemoryQueue[T <: Data](gen: T, entries: Int) extends Module {
  require(isPow2(entries) && entries >= 2, s"MemoryQueue of $entries entries: make it a power of two, 2 or more")

  val io = IO(new Bundle {
    val in = Flipped(Decoupled(gen))
    val out = Decoupled(gen)

    /** Entries in the memory. */
    val count = Output(UInt(log2Ceil(entries + 1).W))
  })

  private val memory = SyncReadMem(entries, gen)
  private val pointerBits = log2Ceil(entries)
  private val write = RegInit(0.U(pointerBits.W))
  private val read = RegInit(0.U(pointerBits.W))
  // Entries, every bit inverted: the highest one is 1 while there is room, so that `in.ready` is a
  // register's bit.
  private val notCount = RegInit(((BigInt(2) << pointerBits) - 1).U)
  // Whether there is any, as a register too: long paths begin with it.
  private val some = RegInit(false.B)

  private val slice = Module(new ReadSlice(gen))
  slice.io.out <> io.out

  io.in.ready := notCount(pointerBits)
  io.count := ~notCount

  private val writes = io.in.fire && !slice.io.passes
  when(writes) {
    memory.write(write, io.in.bits)
    write := write + 1.U
  }
  when(slice.io.read) { read := read + 1.U }
  when(writes =/= slice.io.read) {
    notCount := notCount + Mux(writes, Fill(pointerBits + 1, 1.U), 1.U)
    some := writes || !(notCount.head(pointerBits).andR && !notCount(0))
  }

  slice.io.want := some
  slice.io.data := memory.read(read, slice.io.read)
  slice.io.pass.valid := io.in.valid
  slice.io.pass.bits := io.in.bits
}

/**
 * The output side of a queue in block memory: takes what a read issued in the cycle before
 * delivers, and gives it out through a register slice. One transfer a cycle.
 *
 * `read` issues one, if there is something to read (`want`) and it will find room. Data at `pass`
 * goes past the memory if `passes`: the memory is empty, no read is on its way, and there is room.
 *
 * Queues in a row make long paths of `out.ready` and `read`, and of `pass.valid`: each costs a
 * LUT here.
 */
class ReadSlice[T <: Data](gen: T) extends Module {
  val io = IO(new Bundle {
    val want = Input(Bool())

    /** A read is issued in this cycle; `data` holds it in the next. */
    val read = Output(Bool())
    val data = Input(gen)
    val pass = Flipped(Valid(gen))
    val passes = Output(Bool())
    val out = Decoupled(gen)
  })

  private val inFlight = RegNext(io.read, false.B)
  private val slice = Module(new RegisterSlice(gen))
  // The slice and the read on its way hold at least `one` entry, or `two`. No adder counts them, as
  // its carries would end the chain.
  private val one = RegInit(false.B)
  private val two = RegInit(false.B)
  private val passing = io.passes && io.pass.valid
  private val comes = io.read || passing
  private val goes = slice.io.out.fire
  when(comes && !goes) {
    one := true.B
    two := one
  }.elsewhen(goes && !comes) {
    one := two
    two := false.B
  }

  io.read := io.want && (!two || io.out.ready)
  io.passes := !io.want && !inFlight && !two
  slice.io.in.valid := inFlight || passing
  slice.io.in.bits := Mux(inFlight, io.data, io.pass.bits)
  io.out <> slice.io.out
  assert(!slice.io.in.valid || slice.io.in.ready)
}
