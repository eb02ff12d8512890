// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.stream

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream

/**
 * Lets each packet pass or swallows it, as one answer a packet says that comes beside them,
 * in order.
 *
 * No latency; a packet that is there before its answer waits. Up to `ahead` answers may wait for
 * their packets; one more is an error of the user's. The module that answers counts the
 * swallowed packets.
 */
class PacketGate[M <: Data](meta: M, ahead: Int) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val passes = Flipped(Valid(Bool()))
    val out = PacketStream(meta)
  })

  private val answers = Module(new Queue(Bool(), ahead))
  answers.io.enq.valid := io.passes.valid
  answers.io.enq.bits := io.passes.bits
  private val known = answers.io.deq.valid
  private val passes = answers.io.deq.bits

  io.out.valid := io.in.valid && known && passes
  io.out.bits := io.in.bits
  io.in.ready := known && (io.out.ready || !passes)
  answers.io.deq.ready := io.in.fire && io.in.bits.last

  assert(!io.passes.valid || answers.io.enq.ready, "more answers than packets")
}
