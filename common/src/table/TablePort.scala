// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._

/**
 * Access to one row of one table, from the register bank's indirect window to the table that
 * `table` names.
 *
 * One request at a time. It stands still until `ready`, and exactly one `response` follows.
 * [[TableMux]] may withdraw a request that was not taken: that has no response and changes nothing.
 * A row is written whole in one cycle of the table (shadow row + commit), so traffic never sees
 * half a row.
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

  /** No such table or row, or a row that cannot be read (keys), or the table took too long. */
  val error = Bool()
  val row = UInt(TablePort.rowBits.W)
}

object TablePort {

  /** Widest row any table has: 32 data words of the window. */
  val rowBits = 1024
}
