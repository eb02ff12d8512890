// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{FlowRow, RowField, Upper}

/**
 * What the SPD, flows and selectors of an SA look at (RFC 4301 4.4.1.1), as it stands in the low
 * bits of each of their rows. Flows and rules have the packet's network above it ([[SpdKey]]).
 */
object PacketKey {

  /** In order from bit 0; the same in rules and selector rows. */
  val fields: Seq[RowField] = Seq(
    FlowRow.srcAddr,
    FlowRow.dstAddr,
    FlowRow.srcPort,
    FlowRow.dstPort,
    FlowRow.protocol,
    FlowRow.version,
    FlowRow.upper
  )

  val bits: Int = fields.map(_.width).sum

  /**
   * The key of a packet. Without ports their fields are 0, or hold a message's type and code;
   * `upper` says which. The lowest bit of the version says that the destination is a group, so that
   * no policy of hosts holds for one.
   */
  def apply(packet: HeaderFields): UInt = Cat(
    Mux(
      packet.hasPorts,
      Upper.ports.U(4.W),
      Mux(packet.hasIcmp || packet.hasMobility, Upper.icmp.U(4.W), Upper.opaque.U(4.W))
    ),
    Mux(packet.isV6, 6.U(4.W), 4.U(4.W)) | packet.toGroup,
    packet.protocol,
    packet.destinationPort | packet.messageCode,
    packet.sourcePort | packet.messageType,
    packet.destination,
    packet.source
  )
}
