package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common.LinkMeta
import sallyport.common.regs.{AuditReason, InnerRegs}

/** An authentic packet of an inbound SA was dropped for a reason that an audit log tells of. */
class AuditEvent extends Bundle {
  val sa = UInt(16.W)

  /** One of [[AuditReason]]. */
  val reason = UInt(InnerRegs.AuditEvent.reason.width.W)

  /** As the ESP header has it: of an extended number the low half. */
  val sequence = UInt(32.W)
}

object AuditEvent {

  /** That of a packet, if it is dropped for such a reason. */
  def of(drops: InspectorDrops, meta: LinkMeta): Valid[AuditEvent] = {
    val reasons = Seq(
      drops.replayed -> AuditReason.replayed,
      drops.tooOld -> AuditReason.tooOld,
      drops.selectorMismatch -> AuditReason.selectorMismatch,
      drops.noSelector -> AuditReason.noSelector
    )
    val event = Wire(Valid(new AuditEvent))
    event.valid := reasons.map(_._1).reduce(_ || _)
    event.bits.sa := meta.sa
    event.bits.reason := Mux1H(reasons.map { case (dropped, reason) => dropped -> reason.U })
    event.bits.sequence := meta.sequence(31, 0)
    event
  }
}

/**
 * The events of dropped packets for an audit log (RFC 4303 3.4.3, RFC 4301 5.2 step 4), for software: AUDIT_EVENT, AUDIT_SEQUENCE
 * and AUDIT_CONTROL of regs/inner.rdl.
 *
 * An event a cycle. One with SA and reason of the last that was queued is left out while that waits, so that a copy sent again and
 * again takes one place; the packets' counters tell how many they were. Any other that finds 16 waiting is lost, which `value`
 * says until `clearLost`.
 */
class AuditEvents extends Module {
  val io = IO(new Bundle {
    val event = Flipped(Valid(new AuditEvent))
    val pop = Input(Bool())
    val clearLost = Input(Bool())
    val value = Output(UInt(32.W))

    /** The sequence number of the event that `value` shows. */
    val sequence = Output(UInt(32.W))
  })

  private val queue = Module(new EventQueue(new AuditEvent))
  private val oldest = queue.io.oldest

  // The last that was queued is the last to be taken: it waits as long as any does.
  private val last = Reg(new AuditEvent)
  private val again = oldest.valid && last.sa === io.event.bits.sa && last.reason === io.event.bits.reason
  queue.io.in.valid := io.event.valid && !again
  queue.io.in.bits := io.event.bits
  when(queue.io.in.valid && queue.io.room)(last := io.event.bits)
  queue.io.pop := io.pop
  queue.io.clearLost := io.clearLost

  private val fields = InnerRegs.AuditEvent
  io.value := EventQueue.show(
    fields.sa -> oldest.bits.sa,
    fields.reason -> oldest.bits.reason,
    fields.lost -> queue.io.lost,
    fields.valid -> oldest.valid
  )
  io.sequence := oldest.bits.sequence
}
