// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.InnerRegs

/**
 * A packet of an inbound SA was dropped for a reason that belongs into an audit log.
 *
 * @param keyBits bits kept of the packet itself; 0 if none are kept
 */
class AuditEvent(keyBits: Int = 0) extends Bundle {
  val sa = UInt(16.W)

  /** One of [[AuditReason]]. */
  val reason = UInt(InnerRegs.AuditEvent.reason.width.W)

  /** As the ESP header has it: of an extended number the low half. */
  val sequence = UInt(32.W)
  val packet = UInt(keyBits.W)
}

/**
 * The events of dropped packets for an audit log (RFC 4303 3.4.3 and 3.4.4.1, RFC 4301 5.2 step 4).
 * Software takes them from the registers AUDIT_… of regs/inner.rdl and regs/crypto.rdl, which are
 * the same.
 *
 * An event a cycle, with the time at which it comes. An event with the SA and reason of the last
 * queued one is left out while that one waits. So a repeated copy or forgery takes one place; the
 * packets' counters tell how many came. Any other event that finds 16 waiting is lost, and `value`
 * says so until `clearLost`. No packet waits for the queue.
 *
 * @param keyBits as of [[AuditEvent]]
 */
class AuditEvents(keyBits: Int = 0) extends Module {
  val io = IO(new Bundle {
    val event = Flipped(Valid(new AuditEvent(keyBits)))

    /** The chip's [[CycleCounter]]. */
    val cycles = Input(UInt(64.W))
    val pop = Input(Bool())
    val clearLost = Input(Bool())
    val value = Output(UInt(32.W))

    /**
     * For the event that `value` shows: its sequence number, its time, and the kept bits of
     * the packet.
     */
    val sequence = Output(UInt(32.W))
    val time = Output(UInt(64.W))
    val packet = Output(UInt(keyBits.W))
  })

  private class Entry extends Bundle {
    val event = new AuditEvent(keyBits)
    val time = UInt(64.W)
  }
  private val queue = Module(new EventQueue(new Entry))
  private val oldest = queue.io.oldest
  private val event = oldest.bits.event

  // The last that was queued is the last to be taken: it waits as long as any does.
  private val queued = Wire(Bool())
  private def last(value: UInt): UInt = RegEnable(value, queued)
  private val again = oldest.valid && last(io.event.bits.sa) === io.event.bits.sa &&
    last(io.event.bits.reason) === io.event.bits.reason
  queue.io.in.valid := io.event.valid && !again
  queue.io.in.bits.event := io.event.bits
  queue.io.in.bits.time := io.cycles
  queued := queue.io.in.valid && queue.io.room
  queue.io.pop := io.pop
  queue.io.clearLost := io.clearLost

  private val fields = InnerRegs.AuditEvent
  io.value := EventQueue.show(
    fields.sa -> event.sa,
    fields.reason -> event.reason,
    fields.lost -> queue.io.lost,
    fields.valid -> oldest.valid
  )
  io.sequence := event.sequence
  io.time := oldest.bits.time
  io.packet := event.packet
}
