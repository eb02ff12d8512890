// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.aurora

import chisel3._
import chisel3.util._
import sallyport.boards.clocks.BitSynchronizer

/**
 * Times of [[AuroraReset]], in cycles of the initial clock (50 MHz).
 *
 * @param before  reset_pb alone, before pma_init: 128 cycles of the user clock at least (PG074),
 *                which are 16 of this one
 * @param hold    pma_init: so long that the far end has lost the channel as well, a second, as
 *                designs with hot plug have it
 * @param after   reset_pb after pma_init
 */
case class AuroraResetTimes(before: Int = 64, hold: Int = 50000000, after: Int = 256) {
  require(
    Seq(before, hold, after).forall(_ >= 16),
    "each time is 16 cycles or more, so that whoever asks sees that it has begun"
  )
}

/**
 * Reset of a link's Aurora cores and their transceivers, in the initial clock: at power-up and when
 * asked (PG074, "Reset and power down").
 *
 * Power-up: both resets are high from the first cycle; pma_init falls after `hold`, reset_pb
 * `after` later. Restart: reset_pb rises, pma_init `before` later, and then as at power-up.
 * `request` is another clock's level, a register; it stays until `active` answers it, and has to
 * fall before `active` does. Outputs are registers.
 */
class AuroraReset(times: AuroraResetTimes) extends Module {
  val io = IO(new Bundle {
    val request = Input(Bool())
    val resetPb = Output(Bool())
    val pmaInit = Output(Bool())

    /** The cores are in reset. */
    val active = Output(Bool())
  })

  private object State extends ChiselEnum { val idle, before, hold, after = Value }
  private val state = RegInit(State.hold)
  private val left = RegInit((times.hold - 1).U(log2Ceil(Seq(times.before, times.hold, times.after).max).W))
  private val request = BitSynchronizer(io.request)

  private def enter(next: State.Type, cycles: Int): Unit = {
    state := next
    left := (cycles - 1).U
  }

  when(state === State.idle) {
    when(request) { enter(State.before, times.before) }
  }.elsewhen(left =/= 0.U) {
    left := left - 1.U
  }.otherwise {
    switch(state) {
      is(State.before) { enter(State.hold, times.hold) }
      is(State.hold) { enter(State.after, times.after) }
      is(State.after) { state := State.idle }
    }
  }

  io.resetPb := RegNext(state =/= State.idle, true.B)
  io.pmaInit := RegNext(state === State.hold, true.B)
  io.active := io.resetPb
}
