// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import sallyport.common.registers.map.{PuntGroup, PuntReason}

/**
 * A frame as it leaves a punt port, with what its header says (docs/reference/chip-ports.md, read
 * by hand).
 */
case class PuntedFrame(port: Int, reason: Int, group: Int, cycles: BigInt, frame: Seq[Byte])

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
    PuntReason.resolution -> PuntGroup.resolution
  )

  /** Fails where the header does not fit itself or the frame. */
  def apply(bytes: Seq[Byte]): PuntedFrame = {
    val (header, frame) = bytes.splitAt(16)
    def number(from: Int, until: Int): BigInt = BigInt(1, header.slice(from, until).toArray)
    val punted = PuntedFrame(number(0, 1).toInt, number(1, 2).toInt, number(2, 3).toInt, number(8, 16), frame)
    require(number(4, 6) == frame.length && number(3, 4) == 0 && number(6, 8) == 0, s"a wrong punt header: $header")
    require(punted.group == groups.getOrElse(punted.reason, PuntGroup.other), s"reason and group: $punted")
    punted
  }
}
