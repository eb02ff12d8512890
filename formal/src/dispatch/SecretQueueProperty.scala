// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.dispatch

import chisel3._
import sallyport.crypto.dispatch.{Route, SecretQueue}
import sallyport.formal.harness.{Bug, Claim, Property}

/** Two places, judged from the first wipe on, which comes with reset (Zeroizer). */
class SecretQueueProperty
    extends Property(
      Claim(
        proves =
          "A job that a wipe meets loses its key and its lane, and no place keeps the key of a job that left.",
        clause = "SecretQueue",
        bug = Bug("SecretQueue", raw"left_REG & ~\(", "1'h0 & ~("),
        assumes = Seq("A job leaves when it is there: Dispatcher."),
        depth = 3,
        reach = 8
      )
    ) {
  private val dut = Module(new SecretQueue(2))
  private val offers = any(Bool())
  private val wipe = any(Bool())
  private val taken = any(Bool())
  dut.io.in.valid := offers
  dut.io.in.bits := any(chiselTypeOf(dut.io.in.bits))
  dut.io.wipe := wipe
  dut.io.taken := taken
  assume(!taken || dut.io.out.valid)

  private val wiped = RegInit(false.B)
  when(wipe) { wiped := true.B }
  private val write = spy("dut.write", 2)
  private val read = spy("dut.read", 2)
  private val count = write - read
  private val some = spy("dut.some")
  assert(count <= 2.U && some === (count =/= 0.U))
  private val left = spy("dut.left_REG")
  private val leftSlot = spy("dut.leftSlot", 1)
  assert(!running || left === before(taken))

  // Of each place, whether a wipe met the job in it.
  for (n <- 0 until 2) {
    val met = RegInit(false.B)
    val comes = dut.io.in.fire && write(0) === n.U
    when(wipe) { met := true.B }.elsewhen(comes) { met := false.B }
    val holds = Mux(read(0) === n.U, count >= 1.U, count === 2.U)
    val key = spy(s"dut.slots_${n}_lane_key", 256)
    val auth = spy(s"dut.slots_${n}_lane_auth", 512)
    val empty = key === 0.U && auth === 0.U && spy(s"dut.slots_${n}_lane_salt", 32) === 0.U
    val route = spy(s"dut.slots_${n}_route", 4)
    when(wiped && met && holds) { assert(empty && route === Route.notReady.asUInt) }
    when(wiped && !holds && !(left && leftSlot === n.U)) { assert(empty) }
    when(holds && read(0) === n.U) { assert(spy("dut.route", 4) === route) }
  }
  private val lane = dut.io.out.bits.lane
  private val forgotten = lane.key === 0.U && lane.auth === 0.U && lane.salt === 0.U
  when(running && before(wipe) && dut.io.out.valid) { assert(dut.io.route === Route.notReady && forgotten) }
  cover(dut.io.out.valid && dut.io.out.bits.lane.key =/= 0.U)
  cover(wiped && count === 2.U)
}
