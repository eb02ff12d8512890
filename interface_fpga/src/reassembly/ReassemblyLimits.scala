// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._

/** What software sets. */
class ReassemblyLimits(p: ReassemblyConfig) extends Bundle {

  /** Ticks after its first fragment in which a datagram is given up; 1 or more. */
  val timeout = UInt((p.tickBits - 1).W)

  /** Datagrams of one source at once. */
  val perSource = UInt(p.datagramBits.W)
}
