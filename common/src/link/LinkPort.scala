// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream

/**
 * The chip's side of one Aurora 64B/66B streaming channel, already in the core clock domain.
 *
 * `tx` obeys the Decoupled rule of [[PacketBeat]]; Aurora takes a word when it can (gearbox, clock
 * compensation). `rx` has no back-pressure. A word is eight 8-byte units, unit 0 in bits 63:0;
 * words arrive in order, unchanged but for bit errors. An error that costs the channel a part of a
 * word shifts all that come after it; `restart` then asks for a new beginning.
 */
class LinkPort extends Bundle {
  val up = Input(Bool())
  val tx = Decoupled(UInt(PacketStream.dataBits.W))
  val rx = Flipped(Valid(UInt(PacketStream.dataBits.W)))

  /** Pulse: no good header has come for [[Link.patience]] cycles of `up`. */
  val restart = Output(Bool())
}
