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

  /**
   * The group of a frame: `hairpin`, or that of its reason; `other` for a reason without its own
   * group.
   */
  def apply(frame: PuntMeta): UInt = {
    val ofIts = MuxLookup(frame.reason, PuntGroup.other.U(bits.W))(
      ofReason.map { case (reason, group) => reason.U -> group.U(bits.W) }
    )
    Mux(frame.hairpin, PuntGroup.hairpin.U, ofIts)
  }

  /**
   * The place of a frame's group among `groups`; for one of none of them that of `other`, or the
   * first without `other`.
   */
  def place(frame: PuntMeta, groups: Seq[Int]): UInt = {
    def at(group: Int): UInt = groups.indexOf(group).max(0).U(log2Ceil(groups.length max 2).W)
    val ofIts = MuxLookup(frame.reason, at(PuntGroup.other))(
      ofReason.collect { case (reason, group) if groups.contains(group) => reason.U -> at(group) }
    )
    if (groups.contains(PuntGroup.hairpin)) Mux(frame.hairpin, at(PuntGroup.hairpin), ofIts) else ofIts
  }
}
