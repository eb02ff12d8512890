// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.pcie

import chisel3._

/**
 * Descriptor in front of a request of the host, 128 bits (PG213, completer request), highest
 * bits first.
 */
class CompleterRequest extends Bundle {
  val reserved1 = Bool()
  val attributes = UInt(3.W)
  val trafficClass = UInt(3.W)
  val barAperture = UInt(6.W)
  val bar = UInt(3.W)
  val function = UInt(8.W)
  val tag = UInt(8.W)
  val requester = UInt(16.W)
  val reserved0 = Bool()
  val kind = UInt(4.W)

  /** 32-bit words, with those that have no enabled byte. */
  val words = UInt(11.W)

  /** Bits 63:2 of the byte address. */
  val address = UInt(62.W)
  val addressType = UInt(2.W)
}

object CompleterRequest {
  val bits: Int = 128

  // Values of `kind`.
  val memoryRead = 0
  val memoryWrite = 1
  val lockedRead = 7
  // From here on messages, which like memory writes are posted: the host waits for no completion.
  val firstMessage = 12
}

/** What PG213 has beside the first beat of a request, in m_axis_cq_tuser. */
object CompleterRequestUser {
  def firstEnables(user: UInt): UInt = user(3, 0)
  def lastEnables(user: UInt): UInt = user(7, 4)

  /** The block found the payload damaged. With the last beat. */
  def discontinue(user: UInt): Bool = user(41)
}

/**
 * Descriptor in front of a completion, 96 bits (PG213, completer completion), highest
 * bits first.
 */
class CompleterCompletion extends Bundle {
  val forceEcrc = Bool()
  val attributes = UInt(3.W)
  val trafficClass = UInt(3.W)

  /**
   * The block takes the completer's bus and device from the configuration of the
   * function instead.
   */
  val completerEnable = Bool()
  val completerBus = UInt(8.W)
  val function = UInt(8.W)
  val tag = UInt(8.W)
  val requester = UInt(16.W)
  val reserved3 = Bool()
  val poisoned = Bool()
  val status = UInt(3.W)
  val words = UInt(11.W)
  val reserved2 = UInt(2.W)
  val locked = Bool()

  /** Bytes that the request still waits for, with this completion's. */
  val bytes = UInt(13.W)
  val reserved1 = UInt(6.W)
  val addressType = UInt(2.W)
  val reserved0 = Bool()

  /** Lowest bits of the address of the first byte. */
  val lowAddress = UInt(7.W)
}

object CompleterCompletion {
  val bits: Int = 96
  val words: Int = bits / 32

  // Values of `status` (PCI Express Base Specification 2.2.9).
  val successful = 0
  val unsupportedRequest = 1
  val completerAbort = 4
}
