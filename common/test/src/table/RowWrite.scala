// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.simulator.PeekPokeAPI

/** Writes a row of a table that a spec drives nothing else of meanwhile. It must not be refused. */
object RowWrite extends PeekPokeAPI {
  def apply(table: TablePort, clock: Clock, index: Int, row: BigInt): Unit = {
    table.request.bits.write.poke(true)
    table.request.bits.index.poke(index)
    table.request.bits.row.poke(row)
    table.request.valid.poke(true)
    while (!table.request.ready.peek().litToBoolean) clock.step()
    clock.step()
    table.request.valid.poke(false)
    while (!table.response.valid.peek().litToBoolean) clock.step()
    assert(!table.response.bits.error.peek().litToBoolean, s"row $index")
    clock.step()
  }
}
