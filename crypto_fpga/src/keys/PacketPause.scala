// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.keys

import chisel3._
import chisel3.util._
import sallyport.common.table.TablePort

/**
 * Lets software reach a table only between packets: what a packet finds in several memories then
 * belongs together.
 *
 * An access waits until `may`, then raises `hold`, which keeps new packets from starting a fetch,
 * until `drained` says that no packet is between its lookup and its number. It goes on to `out`,
 * and `hold` falls after the answer, or when the access is withdrawn. Traffic waits some 20 cycles
 * and loses nothing.
 */
class PacketPause extends Module {
  val io = IO(new Bundle {
    val in = Flipped(new TablePort)
    val out = new TablePort
    val may = Input(Bool())
    val hold = Output(Bool())
    val drained = Input(Bool())
  })

  object State extends ChiselEnum { val idle, holding, settling, draining, offer, waiting = Value }
  private val state = RegInit(State.idle)
  switch(state) {
    is(State.idle) { when(io.in.request.valid && io.may) { state := State.holding } }
    // `hold` reaches the packets; the last one that begins counts in `drained` by the end
    // of `settling`.
    is(State.holding) { state := State.settling }
    is(State.settling) { state := State.draining }
    is(State.draining) { when(io.drained) { state := State.offer } }
    is(State.offer) { when(io.in.request.fire) { state := State.waiting } }
    is(State.waiting) { when(io.out.response.valid) { state := State.idle } }
  }
  when(!io.in.request.valid && state =/= State.waiting) { state := State.idle }
  io.hold := state =/= State.idle
  io.out.request.valid := io.in.request.valid && state === State.offer
  io.out.request.bits := io.in.request.bits
  io.in.request.ready := io.out.request.ready && state === State.offer
  io.in.response := io.out.response
}
