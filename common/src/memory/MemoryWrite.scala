// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

import chisel3._

/** A row to be written to a memory. */
class MemoryWrite(indexBits: Int, dataBits: Int) extends Bundle {
  val index = UInt(indexBits.W)
  val data = UInt(dataBits.W)
}
