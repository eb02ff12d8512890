// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._

/**
 * Access to one row of one table, from the register bank's indirect window to the table that `table` names.
 *
 * One request at a time. The window holds `request` until `ready`, then waits for exactly one `response`. A row is written
 * whole in one cycle of the table (shadow row + commit), so traffic never sees half a row.
 */
class TablePort extends Bundle {
  val request = Decoupled(new TableRequest)
  val response = Flipped(Valid(new TableResponse))
}

class TableRequest extends Bundle {
  val table = UInt(8.W)
  val index = UInt(24.W)
  val write = Bool()
  val row = UInt(TablePort.rowBits.W)
}

class TableResponse extends Bundle {

  /** Index out of range, or no such table, or the row cannot be read (keys). */
  val error = Bool()
  val row = UInt(TablePort.rowBits.W)
}

object TablePort {

  /** Widest row any table has: 32 data words of the window. */
  val rowBits = 1024
}
