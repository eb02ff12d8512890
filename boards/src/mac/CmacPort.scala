// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.mac

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream

/**
 * A beat as the 100GbE MAC has it; byte 0 is data(7, 0), `keep` is contiguous from bit 0 and
 * partial on the last beat alone.
 */
class CmacBeat extends Bundle {
  val data = UInt(PacketStream.dataBits.W)
  val keep = UInt(PacketStream.dataBytes.W)
  val last = Bool()

  /** With `last`. Receiver: the frame is bad. Transmitter: send it with a bad FCS. */
  val error = Bool()
}

/**
 * The shell's side of corundum's cmac_gty_wrapper (boards/ip/cmac_gty_wrapper.yaml).
 *
 * `tx` is in the domain of `txClock`, `rx` in that of `rxClock`, both 322.265625 MHz, neither the
 * other's phase nor exactly its rate. Once a frame has begun, `tx.valid` must stay high to its end.
 * Nothing holds `rx` back; a frame's beats may have gaps.
 */
class CmacPort extends Bundle {
  val txClock = Input(Clock())
  val txReset = Input(Bool())
  val tx = Decoupled(new CmacBeat)
  val rxClock = Input(Clock())
  val rxReset = Input(Bool())
  val rx = Flipped(Valid(new CmacBeat))

  /** The receiver has the far end's signal; in `rxClock`. */
  val rxStatus = Input(Bool())
}
