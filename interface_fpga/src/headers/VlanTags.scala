// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.headers

import chisel3._
import sallyport.common.registers.map.NextHopRow

/** VLAN tags that a frame gets behind its addresses (IEEE 802.1Q 9.3, 9.5). */
class VlanTags extends Bundle {

  /** 0 to 2. */
  val count = UInt(2.W)

  /**
   * TPID and TCI of the first tag, and then of the second, in the order of the wire; bits above
   * `count` tags are ignored.
   */
  val bytes = UInt((8 * VlanTags.bytes * VlanTags.most).W)
}

object VlanTags {

  /** Of a tag. */
  val bytes: Int = 4
  val most: Int = 2

  /**
   * Tag protocol identifiers: customer tag, service tag, and what stood for the latter before
   * IEEE 802.1ad.
   */
  val types: Seq[Int] = Seq(0x8100, 0x88a8, 0x9100)

  /** It is one of them, in host order. */
  def isType(kind: UInt): Bool = VecInit(types.map(kind === _.U)).asUInt.orR

  def none: VlanTags = 0.U.asTypeOf(new VlanTags)

  def of(nextHop: UInt): VlanTags = {
    val tags = Wire(new VlanTags)
    tags.count := NextHopRow.tags(nextHop)
    tags.bytes := NextHopRow.tagBytes(nextHop)
    tags
  }
}
