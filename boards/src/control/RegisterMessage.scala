// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import sallyport.boards.registers.CardMap
import sallyport.common.link.LinkFrame

/**
 * A message of the register tunnel in the 88 bits of a link's message (docs/reference/link.md),
 * highest bits first.
 */
class RegisterMessage extends Bundle {
  val reserved = UInt((LinkFrame.messageBits - 61).W)

  /** One of [[RegisterMessage]]'s. */
  val kind = UInt(2.W)

  /** Open and opened: an answer repeats the round of its message. */
  val round = UInt(RegisterMessage.roundBits.W)

  /** Request and response: changes from one access to the next. */
  val sequence = Bool()

  /** Response. */
  val error = Bool()

  /** Request. */
  val write = Bool()
  val strobes = UInt(4.W)
  val address = UInt(CardMap.cardBits.W)

  /** Of a request to write, and of the response to one to read. */
  val data = UInt(32.W)
}

object RegisterMessage {

  /** The master begins anew: what the target remembers of earlier accesses is void. */
  val open = 0

  /** Answer to it. */
  val opened = 1
  val request = 2
  val response = 3

  val roundBits: Int = 4

  /** One of `kind`, all else 0. */
  def apply(kind: UInt): RegisterMessage = {
    val message = WireInit(0.U.asTypeOf(new RegisterMessage))
    message.kind := kind
    message
  }
}
