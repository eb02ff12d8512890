// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._

/** What the receiver of one end tells its sender. */
class LinkFeedback extends Bundle {

  /** The receiver looks for a resync that echoes `nonce`. */
  val hunting = Bool()
  val nonce = UInt(32.W)

  /** The receiver accepts packets. */
  val locked = Bool()

  /** Beats freed by the receive buffer, in the far sender's count. */
  val freed = UInt(12.W)

  /** A good header came: what the far receiver freed and whether it is locked. */
  val far = Valid(new Bundle {
    val freed = UInt(12.W)
    val locked = Bool()
  })

  /** The far receiver asks for a resync with this nonce. */
  val request = Valid(UInt(32.W))
}
