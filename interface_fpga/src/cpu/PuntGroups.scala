// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{PuntGroup, PuntReason}

/** Trap groups: which punted frames share a policer. */
object PuntGroups {
  val bits: Int = 5

  private val ofReason: Seq[(Int, Int)] = Seq(
    PuntReason.ike -> PuntGroup.ike,
    PuntReason.arp -> PuntGroup.arp,
    PuntReason.nd -> PuntGroup.nd,
    PuntReason.icmp -> PuntGroup.icmp,
    PuntReason.unknownSpi -> PuntGroup.unknownSpi,
    PuntReason.mtu -> PuntGroup.mtu,
    PuntReason.reasm -> PuntGroup.reasm,
    PuntReason.ttl -> PuntGroup.ttl,
    PuntReason.linkLocal -> PuntGroup.linkLocal,
    PuntReason.local -> PuntGroup.local,
    PuntReason.resolution -> PuntGroup.resolution,
    PuntReason.ikeCookie -> PuntGroup.ikeCookie,
    PuntReason.ikeInit -> PuntGroup.ikeInit,
    PuntReason.tunnel -> PuntGroup.tunnel,
    PuntReason.clear -> PuntGroup.clear,
    PuntReason.tunnelMtu -> PuntGroup.tunnelMtu,
    PuntReason.clearMtu -> PuntGroup.clearMtu,
    PuntReason.tunnelTtl -> PuntGroup.tunnelTtl,
    PuntReason.clearTtl -> PuntGroup.clearTtl,
    PuntReason.tunnelHost -> PuntGroup.tunnelHost,
    PuntReason.clearHost -> PuntGroup.clearHost,
    PuntReason.tunnelRoute -> PuntGroup.tunnelRoute,
    PuntReason.clearRoute -> PuntGroup.clearRoute
  )

  /** Number of punt reasons. */
  val reasons: Int = PuntReason.clearRoute + 1

  /** The group of a reason; `other` for a reason without its own group. */
  def apply(reason: UInt): UInt = MuxLookup(reason, PuntGroup.other.U(bits.W))(
    ofReason.map { case (reason, group) => reason.U -> group.U(bits.W) }
  )

  /**
   * The place of a reason's group among `groups`; for a reason of none of them that of `other`, or
   * the first without `other`.
   */
  def place(reason: UInt, groups: Seq[Int]): UInt = {
    val placeBits = log2Ceil(groups.length max 2)
    MuxLookup(reason, groups.indexOf(PuntGroup.other).max(0).U(placeBits.W))(
      ofReason.collect {
        case (reason, group) if groups.contains(group) => reason.U -> groups.indexOf(group).U(placeBits.W)
      }
    )
  }
}
