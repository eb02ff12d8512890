// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.pcie

import chisel3._
import chisel3.util._

/**
 * One of the two AXI4-Streams of the PCIe block that carry requests of the host and their
 * completions (PG213), 256 bits, 32-bit aligned.
 */
class PcieBeat(userBits: Int) extends Bundle {
  val data = UInt(PciePort.dataBits.W)
  val keep = UInt((PciePort.dataBits / 32).W)
  val last = Bool()
  val user = UInt(userBits.W)
}

/**
 * The shell's side of pcie4_uscale_plus (boards/ip/pcie4_uscale_plus.yaml), all in the domain of
 * `clock`, 250 MHz.
 */
class PciePort extends Bundle {
  val clock = Input(Clock())
  val reset = Input(Bool())
  val cq = Flipped(Decoupled(new PcieBeat(PciePort.cqUserBits)))
  val cc = Decoupled(new PcieBeat(PciePort.ccUserBits))
}

object PciePort {
  val dataBits: Int = 256
  val cqUserBits: Int = 88
  val ccUserBits: Int = 33
}
