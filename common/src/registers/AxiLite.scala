// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers

import chisel3._
import chisel3.util._

/**
 * AXI4-Lite (AMBA IHI 0022), 32-bit data, 16-bit byte address; written from the manager's side:
 * flip it at a chip.
 */
class AxiLite extends Bundle {
  val aw = Decoupled(new Bundle { val addr = UInt(AxiLite.addressBits.W); val prot = UInt(3.W) })
  val w = Decoupled(new Bundle { val data = UInt(32.W); val strb = UInt(4.W) })
  val b = Flipped(Decoupled(UInt(2.W)))
  val ar = Decoupled(new Bundle { val addr = UInt(AxiLite.addressBits.W); val prot = UInt(3.W) })
  val r = Flipped(Decoupled(new Bundle { val data = UInt(32.W); val resp = UInt(2.W) }))
}

object AxiLite {
  val addressBits = 16
  val okay = 0
  val slverr = 2
}
