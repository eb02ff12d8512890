// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.nonce

import chisel3._
import sallyport.common.table.TablePort
import sallyport.crypto.dispatch.Route
import sallyport.crypto.keys.EncryptFetch
import sallyport.crypto.suite.Suite

/**
 * [[EncryptFetch]] under packets of one SA as fast as it takes them; counts the numbers given out
 * and holds them against RFC 4303.
 */
class ExhaustionHarness(suite: Suite) extends Module {
  val io = IO(new Bundle {

    /** Packets sent in all. */
    val packets = Input(UInt(32.W))
    val table = Flipped(new TablePort)
    val numbers = Flipped(new TablePort)
    val ready = Output(Bool())
    val granted = Output(UInt(32.W))
    val refused = Output(UInt(32.W))

    /** The last number given out. */
    val last = Output(UInt(64.W))

    /**
     * Numbers not above the one before them in the same row, or of more than 32 bits, or given out
     * after one was refused.
     */
    val wrong = Output(UInt(32.W))
  })

  private def count(event: Bool): UInt = {
    val counter = RegInit(0.U(32.W))
    when(event) { counter := counter + 1.U }
    counter
  }
  private val fetch = Module(new EncryptFetch(saBits = 1, Seq(suite)))
  fetch.io.in.valid := count(fetch.io.in.fire) < io.packets
  fetch.io.in.bits := 0.U.asTypeOf(fetch.io.in.bits)
  fetch.io.in.bits.last := true.B
  fetch.io.in.bits.bytes := 46.U
  fetch.io.in.bits.meta.length := 46.U
  fetch.io.beats.ready := true.B
  fetch.io.job.ready := true.B
  fetch.io.jobTaken := fetch.io.job.valid
  fetch.io.table <> io.table
  fetch.io.numbers <> io.numbers
  fetch.io.allowBypass := false.B
  fetch.io.allowFrames := false.B
  fetch.io.closed := false.B
  fetch.io.blocked := false.B
  fetch.io.clear := false.B
  fetch.io.scrub := false.B
  io.ready := fetch.io.tableReady

  private val job = fetch.io.job.bits
  private val granted = fetch.io.job.valid && job.route === Route.lane
  private val refused = fetch.io.job.valid && job.route === Route.exhausted
  private val last = RegInit(0.U(64.W))
  private val exhausted = RegInit(false.B)
  when(granted) { last := job.lane.iv }
  when(refused) { exhausted := true.B }
  when(io.table.request.fire) {
    last := 0.U
    exhausted := false.B
  }
  io.last := last
  io.granted := count(granted)
  io.refused := count(refused)
  io.wrong := count(granted && (job.lane.iv <= last || job.lane.iv >> 32 =/= 0.U || exhausted))
}
