// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._

/**
 * A dynamic reconfiguration port (UG580, UG578) from the side of who uses it, all in the control
 * clock: words of 16 bits.
 */
class DrpPort(val addressBits: Int) extends Bundle {

  /** One cycle long; address, data and `write` stand with it. */
  val enable = Output(Bool())
  val write = Output(Bool())
  val address = Output(UInt(addressBits.W))
  val dataIn = Output(UInt(16.W))

  /** One cycle long: the access is done. */
  val ready = Input(Bool())
  val dataOut = Input(UInt(16.W))
}

object DrpPort {

  /** SYSMONE4's. */
  val monitorBits: Int = 8

  /** cmac_gty_wrapper's (boards/ip/cmac_gty_wrapper.yaml). */
  val macBits: Int = 24
}
