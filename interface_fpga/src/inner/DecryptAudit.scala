// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.registers.AuditEvent
import sallyport.common.registers.map.{AuditReason, FlowRow, InnerRegs}
import sallyport.iface.parse.PacketKey

/**
 * The audit events of the inner chip: packets that were decrypted, and dropped for their number or
 * their selectors.
 */
object DecryptAudit {

  /** Bits kept of a packet: its [[PacketKey]], with the IP version alone. */
  val keyBits: Int = PacketKey.bits

  /** Registers that show it, 32 bits each, from bit 0 on. */
  val words = Seq(
    InnerRegs.auditSrc0,
    InnerRegs.auditSrc1,
    InnerRegs.auditSrc2,
    InnerRegs.auditSrc3,
    InnerRegs.auditDst0,
    InnerRegs.auditDst1,
    InnerRegs.auditDst2,
    InnerRegs.auditDst3,
    InnerRegs.auditPorts,
    InnerRegs.auditUpper
  )

  /** That of a packet, if it is dropped for such a reason. */
  def of(drops: InspectorDrops, meta: LinkMeta, key: UInt): Valid[AuditEvent] = {
    val reasons = Seq(
      drops.replayed -> AuditReason.replayed,
      drops.tooOld -> AuditReason.tooOld,
      drops.selectorMismatch -> AuditReason.selectorMismatch,
      drops.noSelector -> AuditReason.noSelector,
      drops.windowUpset -> AuditReason.windowUpset
    )
    val event = Wire(Valid(new AuditEvent(keyBits)))
    event.valid := reasons.map(_._1).reduce(_ || _)
    event.bits.sa := meta.sa
    event.bits.reason := Mux1H(reasons.map { case (dropped, reason) => dropped -> reason.U })
    event.bits.sequence := meta.sequence(31, 0)
    event.bits.packet := key(keyBits - 1, 0) & ~(BigInt(1) << FlowRow.version.lsb).U(keyBits.W)
    event
  }
}
