// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.MuxTree
import sallyport.common.clock.ClockGate
import sallyport.crypto.suite.Suite

/**
 * A queue of jobs in registers that forgets: an entry is overwritten with [[PathJob.none]] in the
 * cycle after the one in which it leaves, so no key stays behind in a queue that has run empty.
 * While `wipe` is high every job it holds or takes loses its key and becomes `notReady`; it still
 * leaves in its turn, with its metadata. One transfer a cycle, latency 1; `in.ready` and `out` come
 * from registers; `out.valid`, `route` and `fast`, by which dispatch decides, are registers. Its
 * clock stops while it is empty.
 */
class SecretQueue(entries: Int) extends Module {
  require(isPow2(entries) && entries >= 2, s"SecretQueue of $entries entries: make it a power of two, 2 or more")

  val io = IO(new Bundle {
    val in = Flipped(Decoupled(new PathJob))
    val out = Valid(new PathJob)

    /** The job at `out`, which must be valid, leaves. */
    val taken = Input(Bool())
    val wipe = Input(Bool())

    /**
     * Of the job at `out`: where it goes, and the class of its suite ([[Suite.fast]]) unless it
     * is wiped.
     */
    val route = Output(Route())
    val fast = Output(Bool())
  })

  private val left = Wire(Bool())
  private val running = ClockGate(clock, io.in.valid || io.out.valid || left || io.wipe || reset.asBool)
  override protected def implicitClock: Clock = running

  private val slots = Reg(Vec(entries, new PathJob))
  private val write = RegInit(0.U((log2Ceil(entries) + 1).W))
  private val read = RegInit(0.U((log2Ceil(entries) + 1).W))
  private val behind = read + 1.U
  // A register: long paths begin with it.
  private val some = RegInit(false.B)
  when(io.in.fire =/= io.taken) { some := io.in.fire || behind =/= write }
  private def slot(pointer: UInt): UInt = pointer(log2Ceil(entries) - 1, 0)

  io.in.ready := (write ^ read) =/= entries.U
  io.out.valid := some
  io.out.bits := MuxTree(slot(read), slots)
  when(io.wipe) {
    for (slot <- slots) {
      slot := PathJob.none
      slot.epoch := slot.epoch
      slot.lane.meta := slot.lane.meta
    }
  }
  when(io.in.fire) {
    slots(slot(write)) := Mux(io.wipe, PathJob.none, io.in.bits)
    slots(slot(write)).epoch := io.in.bits.epoch
    slots(slot(write)).lane.meta := io.in.bits.lane.meta
    write := write + 1.U
  }
  when(io.taken) { read := behind }

  // A cycle late, for the bits are many and what takes a job is a long path; unless a job has come
  // into its place. Last, so that it is the registers' reset.
  left := RegNext(io.taken, false.B)
  private val leftSlot = RegNext(slot(read))
  private val replaced = io.in.fire && slot(write) === leftSlot
  when(left && !replaced) { slots(leftSlot) := PathJob.none }

  // The job at `out` of the next cycle: the one behind, if this one leaves; one that comes now, if
  // there is none.
  private val route = Reg(Route())
  private val fast = Reg(Bool())
  private def follow(now: PathJob, waits: Bool): Unit = {
    route := Mux(waits, now.route, io.in.bits.route)
    fast := Suite.is(Mux(waits, now.lane.suite, io.in.bits.lane.suite))(_.fast)
  }
  when(io.taken) { follow(slots(slot(behind)), behind =/= write) }
    .elsewhen(!io.out.valid) { follow(slots(slot(read)), false.B) }
  when(io.wipe) { route := Route.notReady }
  io.route := route
  io.fast := fast
  assert(!io.taken || io.out.valid, "a job leaves that never came")
  assert(!io.out.valid || route === io.out.bits.route, "the route of another job")
}
