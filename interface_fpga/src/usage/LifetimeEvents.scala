// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import chisel3._
import chisel3.util._
import sallyport.common.registers.EventQueue
import sallyport.common.registers.map.InnerRegs

/**
 * The events of lifetimes, of both directions, for software: LIFETIME_EVENT and LIFETIME_CONTROL of
 * regs/inner.rdl.
 *
 * Each input brings an event every second cycle at most. An event that finds the queue full is
 * lost, which `value` says until `clearLost`: software then looks at the rows themselves.
 */
class LifetimeEvents extends Module {
  val io = IO(new Bundle {
    val outbound = Flipped(Valid(new UsageEvent))
    val inbound = Flipped(Valid(new UsageEvent))
    val pop = Input(Bool())
    val clearLost = Input(Bool())
    val value = Output(UInt(32.W))
  })

  private class Entry extends Bundle {
    val inbound = Bool()
    val event = new UsageEvent
  }

  // Each direction waits a cycle for the other at most, since the queue takes one a cycle.
  private val queue = Module(new EventQueue(new Entry))
  private val waits = RegInit(VecInit.fill(2)(false.B))
  private val events = Reg(Vec(2, new UsageEvent))
  private val inbound = !waits(0)
  for ((in, i) <- Seq(io.outbound, io.inbound).zipWithIndex) {
    when(waits(i) && inbound === (i == 1).B)(waits(i) := false.B)
    when(in.valid) {
      waits(i) := true.B
      events(i) := in.bits
    }
    assert(!(in.valid && waits(i) && inbound =/= (i == 1).B), "lifetime events of one direction in two cycles running")
  }
  queue.io.in.valid := waits.asUInt.orR
  queue.io.in.bits.inbound := inbound
  queue.io.in.bits.event := Mux(inbound, events(1), events(0))
  queue.io.pop := io.pop
  queue.io.clearLost := io.clearLost

  private val out = queue.io.oldest
  private val fields = InnerRegs.LifetimeEvent
  io.value := EventQueue.show(
    fields.sa -> out.bits.event.sa,
    fields.inbound -> out.bits.inbound,
    fields.hard -> out.bits.event.hard,
    fields.bytes -> out.bits.event.bytes,
    fields.packets -> out.bits.event.packets,
    fields.lost -> queue.io.lost,
    fields.valid -> out.valid
  )
}
