// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._

/**
 * The name of a place in which the outer chip keeps where a packet came from: what
 * [[LinkMeta.peerTag]] holds with `moved`.
 */
class PeerTag extends Bundle {
  val round = UInt(PeerTag.roundBits.W)
  val place = UInt(log2Ceil(PeerTag.places).W)
}

object PeerTag {
  val places: Int = 64
  val roundBits: Int = 2
}
