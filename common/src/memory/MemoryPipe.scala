// SPDX-License-Identifier: Apache-2.0
package sallyport.common.memory

/**
 * The registers on the way through a [[RowMemory]].
 *
 * @param columnRegisters registers behind a column of blocks, 1 or more. Vivado moves them into the
 *   column: the last block's output register first, then between blocks (UG573 asks for one every
 *   few blocks; UG901, "Creating Pipeline")
 * @param bankRows rows of a column, a power of two; none: the memory is one column. A memory with
 *   more rows has a bank for each so many, with registers of its own in front of its blocks, and a
 *   register behind the multiplexer of all banks
 */
case class MemoryPipe(columnRegisters: Int, bankRows: Option[Int] = None) {
  require(columnRegisters >= 1, s"a column has a register at its output, not $columnRegisters")
  require(bankRows.forall(rows => rows >= 2 && Integer.bitCount(rows) == 1), s"no bank has $bankRows rows")

  /** Cycles from a read to its row. */
  val latency: Int = 1 + columnRegisters + (if (bankRows.isDefined) 2 else 0)
}

object MemoryPipe {

  /** Of memories that are one block or column deep on a board. */
  val column: MemoryPipe = MemoryPipe(columnRegisters = 1)

  /** Of memories that are deeper: a register in the middle of a column of URAM and one behind. */
  val banks: MemoryPipe = MemoryPipe(columnRegisters = 2, bankRows = Some(MemoryBinding.columnRows))
}
