// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.registers

import chisel3._
import chisel3.util._
import sallyport.boards.clocks.BitSynchronizer

/**
 * A [[RegisterPort]] from one clock into another, of any ratio.
 *
 * Four phases: `asks` rises with the request held beside it, `answered` with the response, `asks`
 * falls, `answered` falls. Levels, not toggles, so that an end that is reset alone comes back to
 * the idle state by itself, and the other with it:
 *   - the manager's end is reset: the access that is under way ends at the target, and its answer
 *     is thrown away. The reset has to last for five periods of the target's clock.
 *   - the target's end is reset: a request that waits for its answer is made again once the reset
 *     is over, so the manager gets one.
 *
 * Each access reaches the target once. Latency: 4 to 5 periods of the clock that receives each way;
 * the next access may begin after as many again. Constraint:
 * boards/constraints/RegisterCrossing.tcl.
 */
class RegisterCrossing(addressBits: Int) extends RawModule {
  override def desiredName = "RegisterCrossing"

  val managerClock = IO(Input(Clock()))
  val managerReset = IO(Input(Bool()))
  val manager = IO(Flipped(new RegisterPort(addressBits)))
  val targetClock = IO(Input(Clock()))
  val targetReset = IO(Input(Bool()))
  val target = IO(new RegisterPort(addressBits))

  private val asks = withClockAndReset(managerClock, managerReset)(RegInit(false.B))
  private val request = withClock(managerClock)(Reg(new RegisterRequest(addressBits)))
  private val answered = withClockAndReset(targetClock, targetReset)(RegInit(false.B))
  private val response = withClock(targetClock)(Reg(new RegisterResponse))

  /**
   * `held`, which is the other clock's, from the cycle after `now` on; it has been still for three
   * cycles then (CDC-15 of UG906).
   */
  private def take[T <: Data](held: T, now: Bool): T = {
    val seen = RegEnable(held.asUInt, now).suggestName("seen")
    addAttribute(seen, "ASYNC_REG = \"TRUE\"")
    seen.asTypeOf(held)
  }

  withClockAndReset(managerClock, managerReset) {
    val heard = BitSynchronizer(answered)
    val ends = asks && heard && RegNext(heard, false.B)
    manager.request.ready := !asks && !heard
    when(manager.request.fire) {
      asks := true.B
      request := manager.request.bits
    }.elsewhen(ends) { asks := false.B }
    manager.response.valid := RegNext(ends, false.B)
    manager.response.bits := take(response, ends)
  }

  withClockAndReset(targetClock, targetReset) {
    val asked = BitSynchronizer(asks)
    val busy = RegInit(false.B)
    val waits = RegInit(false.B)
    // `asks` fell before the answer: who asked was reset, and what asks from now on is
    // another access.
    val abandoned = RegInit(false.B)
    val begins = asked && RegNext(asked, false.B) && !busy
    target.request.valid := waits
    target.request.bits := take(request, begins)
    when(begins) {
      busy := true.B
      waits := true.B
      abandoned := false.B
    }
    when(target.request.fire) { waits := false.B }
    when(busy && !answered && !asked) { abandoned := true.B }
    when(target.response.valid) {
      response := target.response.bits
      answered := asked && !abandoned
      busy := asked && !abandoned
    }.elsewhen(answered && !asked) {
      answered := false.B
      busy := false.B
    }
    assert(!target.response.valid || (busy && !waits && !answered), "an answer to no request")
  }
}
