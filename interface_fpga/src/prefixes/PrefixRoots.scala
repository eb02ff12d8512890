// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.PrefixRootRow
import sallyport.common.table.{TableAccess, TablePort}

/** Where the tree of a query starts. */
class PrefixRoot extends Bundle {
  val valid = Bool()
  val node = UInt(PrefixNode.rowBits.W)
  val start = UInt(PrefixRootRow.start.width.W)

  /** The row has a flipped bit: all else may be wrong. */
  val upset = Bool()
}

/**
 * The table of roots (`prefix_root`): row 4n + 2p + v is the root of network n, of policies if p is
 * 1 and else of routes, of IPv6 if v is 1 and else of IPv4.
 *
 * A look-up takes a cycle, and waits for no access of software. The rows are in LUT RAM
 * ([[sallyport.common.memory.MemoryBinding]]), with a register behind it, so a look-up in the cycle
 * of a write finds the row before it. A row has a bit of even parity.
 *
 * @param networks a power of two
 */
class PrefixRoots(networks: Int) extends Module {
  private val rows = PrefixRoots.trees * networks
  val io = IO(new Bundle {
    val query = Input(new PrefixQuery)

    /** Of the query of the cycle before: registers, behind a sum of parity. */
    val root = Output(new PrefixRoot)
    val table = Flipped(new TablePort)
    val ready = Output(Bool())
  })
  require(isPow2(networks), s"$networks networks: make it a power of two")

  /** A row with its parity above it, as the memory answers: a test flips bits. */
  protected def answered(word: UInt): UInt = word

  private val readLatency = 1
  private val access = Module(new TableAccess(rows, PrefixRootRow.bits, rows, writeOnly = false, readLatency))
  access.io.table <> io.table
  access.io.clear := false.B
  io.ready := access.io.ready
  private val software = access.io.memory
  software.ready := true.B

  private val memory = SyncReadMem(rows, UInt((PrefixRootRow.bits + 1).W))
  when(software.valid && software.bits.write) {
    val parity = Mux(access.io.clearing, 0.U, software.bits.row.xorR)
    memory.write(software.bits.index, parity ## software.bits.row)
  }
  access.io.data := memory.read(access.io.index, true.B).tail(1)

  private val index = io.query.key.network ## io.query.policies ## io.query.key.v6
  private val word = answered(memory.read(index(log2Ceil(rows) - 1, 0), true.B))
  io.root.valid := PrefixRootRow.valid(word)
  io.root.node := PrefixRootRow.node(word)
  io.root.start := PrefixRootRow.start(word)
  io.root.upset := word.xorR
}

object PrefixRoots {

  /** Of a network: of routes IPv4 and IPv6, of policies IPv4 and IPv6. */
  val trees: Int = 4
}
