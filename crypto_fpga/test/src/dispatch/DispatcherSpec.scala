// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.dispatch

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

/** What dispatch shows of a packet's key, whatever the packet's way, while keys are erased. */
class DispatcherSpec extends AnyFunSuite with CompiledOnce {

  private val lanes = 2
  private val secret = BigInt("0123456789abcdef", 16)
  private val packet = 0x155

  private def start(dut: Dispatcher): Unit = {
    dut.reset.poke(true)
    dut.clock.step(2)
    dut.reset.poke(false)
    dut.io.blocked.poke(false)
    dut.io.closed.poke(false)
    dut.io.failed.poke(0)
    dut.io.test.request.poke(false)
    dut.io.test.beat.valid.poke(false)
    dut.io.in.valid.poke(false)
    dut.io.job.valid.poke(false)
    dut.io.bypass.ready.poke(true)
    for (lane <- 0 until lanes) {
      dut.io.lane(lane).ready.poke(true)
      for (kind <- 0 to 1) dut.io.room(lane)(kind).poke(true)
    }
    dut.clock.step(4)
  }

  /**
   * A packet of two beats goes its way by `route`, then keys are erased; `during` erases them
   * between its beats.
   */
  private def run(dut: Dispatcher, route: Route.Type, during: Boolean): Unit = {
    val bypasses = route == Route.bypass
    def idle(): Unit = {
      dut.io.in.valid.poke(false)
      dut.io.job.valid.poke(false)
    }
    start(dut)

    val job = dut.io.job.bits
    job.route.poke(route)
    job.lane.suite.poke(1)
    for (field <- Seq(job.lane.key, job.lane.auth)) field.poke(secret)
    job.lane.salt.poke(secret & 0xffffffffL)
    job.lane.meta.sa.poke(packet)
    job.lane.meta.bypass.poke(bypasses)
    dut.io.in.bits.bytes.poke(64)
    dut.io.in.bits.last.poke(false)
    dut.io.in.valid.poke(true)
    dut.io.job.valid.poke(true)
    dut.clock.step()
    idle()
    dut.clock.step(8)
    if (during) dut.io.blocked.poke(true)
    dut.clock.step(4)
    dut.io.in.bits.last.poke(true)
    dut.io.in.valid.poke(true)
    dut.clock.step()
    idle()

    // What a bypassed packet is known by stays until its last beat has left.
    var ended = false
    for (_ <- 0 until 8) {
      if (dut.io.bypass.valid.peek().litToBoolean) {
        assert(bypasses && dut.io.bypass.bits.meta.sa.peek().litValue == packet)
        ended = dut.io.bypass.bits.last.peek().litToBoolean
      }
      dut.clock.step()
    }
    assert(ended == bypasses)
    dut.io.blocked.poke(true)
    dut.clock.step(4)
    for (lane <- dut.io.lane; field <- Seq(lane.bits.meta.key, lane.bits.meta.auth, lane.bits.meta.salt))
      assert(
        field.peek().litValue == 0,
        s"$route: a key waits at the port of a lane, erased during the packet: $during"
      )
  }

  test("no key waits at a lane's port when keys are erased, whichever way the last packet went") {
    simulate(new Dispatcher(lanes)) { dut =>
      for (route <- Seq(Route.lane, Route.bypass); during <- Seq(false, true)) run(dut, route, during)
    }
  }

  test("a packet of the self-test enters its lane with its own suite, while keys are erased too") {
    simulate(new Dispatcher(lanes)) { dut =>
      for (blocked <- Seq(false, true); suite <- Seq(2, 5, 2); beat <- 0 to 1) {
        if (suite == 2 && beat == 0) start(dut)
        val test = dut.io.test
        dut.io.blocked.poke(blocked)
        test.request.poke(true)
        test.lane.poke(2)
        test.beat.valid.poke(true)
        test.beat.bits.meta.suite.poke(suite)
        test.beat.bits.last.poke(beat == 1)
        dut.clock.step()
        test.beat.valid.poke(false)
        for (waits <- 0 to 2) {
          dut.io.lane(1).ready.poke(waits == 2)
          val lane = dut.io.lane(1)
          assert(lane.valid.peek().litToBoolean && lane.bits.meta.suite.peek().litValue == suite)
          assert(lane.bits.last.peek().litToBoolean == (beat == 1))
          assert(!dut.io.lane(0).valid.peek().litToBoolean && !dut.io.order.valid.peek().litToBoolean)
          dut.clock.step()
        }
        assert(!dut.io.lane(1).valid.peek().litToBoolean && !dut.io.drop.valid.peek().litToBoolean)
      }
    }
  }
}
