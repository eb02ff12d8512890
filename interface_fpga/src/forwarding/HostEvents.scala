// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.forwarding

import chisel3._
import chisel3.util._
import sallyport.common.registers.EventQueue
import sallyport.common.registers.map.{HostRow, InnerRegs}

/** A host straight behind a port. */
class HostAddress extends Bundle {

  /** Network that it is in. */
  val network = UInt(HostRow.network.width.W)
  val v6 = Bool()

  /** As a number; of IPv4 with zeros above. */
  val address = UInt(128.W)
}

/**
 * Packets to hosts whose Ethernet addresses are not known, for software, which looks for the hosts:
 * HOST_EVENT, HOST_ADDR_0 to 3 and HOST_CONTROL of regs/inner.rdl.
 *
 * A host of one of the last four events raises none as long as any event waits: a stream of packets
 * to a few hosts takes a place for each. Any other event that finds 16 waiting is lost, which
 * `value` says until `clearLost`: the host's next packets bring it again. No packet waits.
 *
 * An event every second cycle.
 */
class HostEvents extends Module {
  val io = IO(new Bundle {
    val event = Flipped(Valid(new HostAddress))
    val pop = Input(Bool())
    val clearLost = Input(Bool())
    val value = Output(UInt(32.W))

    /** For the event that `value` shows. */
    val address = Output(UInt(128.W))
  })

  private val queue = Module(new EventQueue(new HostAddress))
  private val oldest = queue.io.oldest

  // Stage 1: compared with the last hosts, in parts of 12 bits. Stage 2: queued, unless it is one
  // of them. An event that comes in the next cycle would miss this one.
  private val recent = Reg(Vec(HostEvents.remembered, new HostAddress))
  private val used = RegInit(VecInit.fill(HostEvents.remembered)(false.B))
  private val event1 = RegNext(io.event.bits)
  private val valid1 = RegNext(io.event.valid, false.B)
  private val parts = HostEvents.parts(io.event.bits.asUInt)
  private val same = recent.map { host =>
    RegNext(VecInit(parts.zip(HostEvents.parts(host.asUInt)).map { case (a, b) => a === b }))
  }
  private val again = VecInit(same.zip(used).map { case (equal, is) => equal.asUInt.andR && is }).asUInt.orR
  queue.io.in.valid := valid1 && !again
  queue.io.in.bits := event1
  queue.io.pop := io.pop
  queue.io.clearLost := io.clearLost

  private val queued = queue.io.in.valid && queue.io.room
  when(queued) {
    recent := VecInit(event1 +: recent.init)
    used := VecInit(true.B +: used.init)
  }.elsewhen(!oldest.valid)(used.foreach(_ := false.B))

  private val fields = InnerRegs.HostEvent
  io.value := EventQueue.show(
    fields.version -> Mux(oldest.bits.v6, 6.U, 4.U),
    fields.network -> oldest.bits.network,
    fields.lost -> queue.io.lost,
    fields.valid -> oldest.valid
  )
  io.address := oldest.bits.address
}

object HostEvents {

  /** Hosts of events that raise no further one. */
  val remembered: Int = 4

  private def parts(bits: UInt): Seq[UInt] =
    (0 until bits.getWidth by 12).map(lsb => bits(lsb + 11 min bits.getWidth - 1, lsb))
}
