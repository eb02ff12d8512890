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

  /** The row has a flipped bit: all else may be wrong. */
  val upset = Bool()
}

/**
 * The table of roots (`prefix_root`): row 4n + 2p + v is the root of network n, of policies if p is
 * 1 and else of routes, of IPv6 if v is 1 and else of IPv4.
 *
 * A look-up takes a cycle, and is never kept waiting: the rows are in LUTs, whose reads in the
 * cycle of a write give the row before it. A row has a bit of even parity.
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

  private val memory = Mem(rows, UInt((PrefixRootRow.bits + 1).W))
  when(software.valid && software.bits.write) {
    memory(software.bits.index) := Mux(access.io.clearing, 0.U, software.bits.row.xorR) ## software.bits.row
  }
  access.io.data := RegNext(memory(access.io.index).tail(1))

  private val index = io.query.key.network ## io.query.policies ## io.query.key.v6
  private val word = RegNext(answered(memory(index(log2Ceil(rows) - 1, 0))))
  io.root.valid := PrefixRootRow.valid(word)
  io.root.node := PrefixRootRow.node(word)
  io.root.upset := word.xorR
}

object PrefixRoots {

  /** Of a network: of routes IPv4 and IPv6, of policies IPv4 and IPv6. */
  val trees: Int = 4
}
