// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import chisel3._
import sallyport.common.registers.map.CryptoRegs

/**
 * Starts the self-tests of both paths together, on command and each period, and tells of them in
 * the registers SELF_TEST_STATUS, SELF_TEST_FAILED and SELF_TEST_CYCLES. The run at reset starts by
 * itself ([[SelfTest]]), and counts as one. A path whose lanes cannot come to rest, as behind a
 * link that takes nothing, does not keep the other from its period.
 */
class SelfTestSchedule(lanes: Int) extends Module {
  val io = IO(new Bundle {
    val command = Input(Bool())

    /** In 2^20 cycles; 0 for none. */
    val period = Input(UInt(SelfTestSchedule.periodBits.W))
    val encrypt = Input(new SelfTestState(lanes))
    val decrypt = Input(new SelfTestState(lanes))
    val run = Output(Bool())
    val status = Output(UInt(32.W))
    val failed = Output(UInt(32.W))
    val cycles = Output(UInt(32.W))
  })

  private val running = RegNext(io.encrypt.running || io.decrypt.running, false.B)
  private val before = RegNext(running, false.B)
  private val runs = RegInit(0.U(16.W))
  private val now = RegInit(0.U(32.W))
  private val last = RegInit(0.U(32.W))
  now := Mux(running, now + 1.U, 0.U)
  when(before && !running) {
    runs := runs + 1.U
    last := now
  }

  // The time since both paths ran.
  private val both = RegNext(io.encrypt.running && io.decrypt.running, false.B)
  private val fine = RegInit(0.U((SelfTestSchedule.unitBits + 1).W))
  private val units = RegInit(0.U(io.period.getWidth.W))
  private val full = fine(SelfTestSchedule.unitBits)
  fine := Mux(both || io.run, 0.U, fine(SelfTestSchedule.unitBits - 1, 0) +& 1.U)
  when(both || io.run) { units := 0.U }.elsewhen(full && !units.andR) { units := units + 1.U }
  private val due = RegNext(units >= io.period && io.period.orR, false.B)
  io.run := RegNext((io.command || due) && !both, false.B)

  private val fields = CryptoRegs.SelfTestStatus
  io.status := (runs << fields.runs.lsb) | (running << fields.running.lsb)
  io.failed := (io.decrypt.failed << CryptoRegs.SelfTestFailed.decrypt.lsb) | io.encrypt.failed
  io.cycles := last
}

object SelfTestSchedule {

  /** Of the register SELF_TEST_PERIOD. */
  private[crypto] val periodBits = 20
  private val unitBits = 20
}
