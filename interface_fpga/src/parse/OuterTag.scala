// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import sallyport.common.arithmetic.WireOrder
import sallyport.iface.headers.{EthernetHeader, VlanTags}

/** The outer VLAN tag of a frame (IEEE 802.1Q 9.6). */
object OuterTag {
  val idBits: Int = 12

  /** Its VLAN ID, 0 without a tag, of a frame whose byte 0 is bits 7:0; no registers. */
  def id(bytes: UInt): UInt = {
    def at(offset: Int): UInt = WireOrder.bigEndian(bytes(8 * offset + 15, 8 * offset))
    val place = EthernetHeader.bytes - 2
    Mux(VlanTags.isType(at(place)), at(place + 2)(idBits - 1, 0), 0.U(idBits.W))
  }
}
