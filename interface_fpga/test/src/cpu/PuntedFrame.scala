// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import sallyport.common.registers.map.{PuntGroup, PuntReason}

/**
 * A frame as it leaves a punt port, with what its header says (docs/reference/chip-ports.md, read
 * by hand).
 */
case class PuntedFrame(
    port: Int,
    reason: Int,
    group: Int,
    sa: Int,
    injected: Boolean,
    hairpin: Boolean,
    network: Int,
    cycles: BigInt,
    frame: Seq[Byte]
)

object PuntedFrame {
  private val groups = Map(
    PuntReason.ike -> PuntGroup.ike,
    PuntReason.ikeCookie -> PuntGroup.ikeCookie,
    PuntReason.ikeInit -> PuntGroup.ikeInit,
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

  /** Of packets that came by an SA. */
  private val bySa = Set(
    PuntReason.tunnel,
    PuntReason.tunnelMtu,
    PuntReason.tunnelTtl,
    PuntReason.tunnelHost,
    PuntReason.tunnelRoute
  )

  /** Fails where the header does not fit itself or the frame. */
  def apply(bytes: Seq[Byte]): PuntedFrame = {
    val (header, frame) = bytes.splitAt(16)
    def number(from: Int, until: Int): BigInt = BigInt(1, header.slice(from, until).toArray)
    val Seq(port, reason, group) = (0 until 3).map(n => number(n, n + 1).toInt)
    val flags = number(3, 4).toInt
    val (injected, hairpin, network) = ((flags & 1) == 1, (flags & 2) == 2, flags >> 2)
    val punted =
      PuntedFrame(port, reason, group, number(6, 8).toInt, injected, hairpin, network, number(8, 16), frame)
    require(number(4, 6) == frame.length && !(injected && hairpin), s"a wrong punt header: $header")
    require(punted.sa == 0 || bySa.contains(punted.reason), s"an SA of a frame that came by none: $punted")
    val expected = if (hairpin) PuntGroup.hairpin else groups.getOrElse(punted.reason, PuntGroup.other)
    require(punted.group == expected, s"reason and group: $punted")
    punted
  }
}
