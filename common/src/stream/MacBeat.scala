// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/**
 * One beat from or to the 100GbE MAC: a frame from its destination address to the last byte before
 * the FCS.
 *
 * Receive side (`Valid`: the CMAC has no back-pressure): `error` with `last` says that the MAC
 * found the frame bad (FCS, coding). Length rules are the core's. Transmit side (`Decoupled`):
 * `error` with `last` makes the MAC send a bad FCS.
 */
class MacBeat extends Bundle {
  val data = UInt(PacketStream.dataBits.W)
  val last = Bool()
  val bytes = UInt(log2Ceil(PacketStream.dataBytes + 1).W)
  val error = Bool()
}
