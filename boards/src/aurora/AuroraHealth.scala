// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.aurora

import chisel3._

/**
 * Whether a channel can be used, in its user clock.
 *
 * `good` falls a cycle after channel_up falls or hard_err rises and stays low for
 * [[AuroraHealth.pause]] cycles or longer, so that a slower clock sees it. After a hard error the
 * core starts its channel anew by itself (PG074); until it does, `good` stays low.
 */
class AuroraHealth extends Module {
  val io = IO(new Bundle {
    val channelUp = Input(Bool())
    val hardError = Input(Bool())
    val good = Output(Bool())
  })

  private val up = RegNext(io.channelUp, false.B)
  private val hardError = RegNext(io.hardError, false.B)
  private val broken = RegInit(false.B)
  when(!up) { broken := false.B }.elsewhen(hardError) { broken := true.B }

  private val waited = RegInit(0.U(5.W))
  private val good = waited(4)
  when(!up || hardError || broken) { waited := 0.U }.elsewhen(!good) { waited := waited + 1.U }
  io.good := good
}

object AuroraHealth {

  /** Cycles. */
  val pause: Int = 16
}
