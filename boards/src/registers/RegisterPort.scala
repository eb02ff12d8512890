// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.registers

import chisel3._
import chisel3.util._

/**
 * Access to one 32-bit register at a time, the idiom of [[sallyport.common.table.TablePort]];
 * written from the manager's side: flip it at a target.
 *
 * The manager holds `request` until `ready`, then waits for exactly one pulse of `response`, one or
 * more cycles later, before the next. Every target answers in bounded time. It is what crosses
 * clocks, links and arbiters inside a shell: AXI4-Lite has five channels for it.
 *
 * @param addressBits bits of the byte address; the lowest two are 0
 */
class RegisterPort(val addressBits: Int) extends Bundle {
  val request = Decoupled(new RegisterRequest(addressBits))
  val response = Flipped(Valid(new RegisterResponse))
}

class RegisterRequest(addressBits: Int) extends Bundle {
  val write = Bool()
  val address = UInt(addressBits.W)

  /** Of a write, with a strobe for each byte. */
  val data = UInt(32.W)
  val strobes = UInt(4.W)
}

class RegisterResponse extends Bundle {

  /** There is no such register, or it refuses the access: what AXI4-Lite calls SLVERR. */
  val error = Bool()

  /** Of a read without error. */
  val data = UInt(32.W)
}

/** Address map of a card's BAR0, 512 KiB (docs/reference/cards.md). */
object CardMap {

  /** Byte addresses of the cards that one card reaches: bits 18:16 choose the card. */
  val boxBits: Int = 19

  /** Byte addresses of one card. */
  val cardBits: Int = 16

  /** Byte addresses of either half of a card: the core's registers, and from 0x8000 the shell's. */
  val halfBits: Int = 15
}
