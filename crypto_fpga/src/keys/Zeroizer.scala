// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._
import sallyport.crypto.lane.LanePorts

/**
 * Clears every key of the chip after reset, on `request`, and when `tamper` (any clock's,
 * synchronised here) rises and when it falls; `blocked` stays high in between.
 *
 * In order: `blocked` rises and with it the key tables are told to clear; one cycle later, when
 * dispatch has withdrawn what waits for a lane, the lanes' `zeroize` is high for four cycles; when
 * the tables are clear and `lanesCycles` have passed (more than a lane promises,
 * [[LanePorts.wipeCycles]]), `scrub` has each bank of a table read a cleared row once, so that its
 * output registers hold no key; then `blocked` falls. Time: rows of a table + 16 cycles, or
 * `lanesCycles` + 16.
 *
 * A trigger during such a pass does not start it over, for a contact that bounces would then keep
 * the lanes from ever being wiped. The pass ends, and one more follows: at most twice that time
 * from the last trigger.
 *
 * Nothing here waits for traffic, for a link or for software.
 */
class Zeroizer(lanesCycles: Int = LanePorts.wipeCycles + 16) extends Module {
  val io = IO(new Bundle {
    val request = Input(Bool())
    val tamper = Input(Bool())
    val tablesReady = Input(Bool())

    val blocked = Output(Bool())
    val clearTables = Output(Bool())

    /** High with `clearTables`, and as long as `tamper` is: software's rows and enables end. */
    val clearSoftware = Output(Bool())
    val zeroizeLanes = Output(Bool())
    val scrub = Output(Bool())

    /** `tamper` is or was high since reset. */
    val tampered = Output(Bool())
  })

  private val tamper = RegNext(RegNext(io.tamper, false.B), false.B)
  private val tampered = RegInit(false.B)
  when(tamper) { tampered := true.B }
  io.tampered := tampered

  // Cycles since the pass began, up to `settled`; after reset the tables clear themselves.
  private val settled = lanesCycles
  private val age = RegInit(0.U(log2Ceil(settled + 1).W))
  private val passing = age =/= settled.U
  private val again = RegInit(false.B)
  private val blocked = RegInit(true.B)
  private val scrubbing = RegInit(0.U(Zeroizer.scrubCycles.W))
  private val trigger = io.request || tamper =/= RegNext(tamper, false.B)

  when(passing) { age := age + 1.U }.elsewhen(again) {
    age := 0.U
    again := false.B
  }
  scrubbing := scrubbing(Zeroizer.scrubCycles - 2, 0) ## false.B
  when(blocked && !passing && !again && io.tablesReady && !tamper && scrubbing === 0.U) { scrubbing := 1.U }
  when(scrubbing(Zeroizer.scrubCycles - 1)) { blocked := false.B }
  when(trigger) {
    when(!passing) { age := 0.U }
    again := passing
    blocked := true.B
    scrubbing := 0.U
  }

  io.blocked := blocked
  io.clearTables := RegNext(trigger, false.B)
  io.clearSoftware := RegNext(trigger || tamper, false.B)
  io.zeroizeLanes := blocked && age >= 1.U && age <= 4.U
  io.scrub := scrubbing(0)
}

object Zeroizer {

  /** A table's latency and some. */
  private val scrubCycles = KeyTable.latency + 4
}
