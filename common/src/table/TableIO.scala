// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.util._

/**
 * Answer of a table.
 *
 * `row` is laid out as the table's row in the RDL, and is meaningful only with `hit`.
 */
class TableResult(rowBits: Int) extends Bundle {
  val hit = Bool()
  val row = UInt(rowBits.W)
}

/**
 * Ports that every table has.
 *
 * Lookups: one a cycle, never refused; `result.valid` follows `lookup.valid` by exactly the
 * `latency` of the table's companion object, in order. A lookup while `ready` is low answers
 * without a hit.
 *
 * Rows: software's access (see [[TablePort]]; `table` of the request is ignored, [[TableMux]] has
 * decoded it). A row changes between two lookups, never inside one. A write waits for a cycle in
 * which no lookup reads that very row. Only a lookup of that row in every cycle could hold it off,
 * and packets come at most every second cycle.
 *
 * `clear` (one cycle is enough) empties the table, as reset does; `ready` is low meanwhile, and row
 * accesses wait.
 */
class TableIO(keyBits: Int, rowBits: Int) extends Bundle {
  val lookup = Flipped(Valid(UInt(keyBits.W)))
  val result = Valid(new TableResult(rowBits))
  val table = Flipped(new TablePort)
  val clear = Input(Bool())
  val ready = Output(Bool())
}
