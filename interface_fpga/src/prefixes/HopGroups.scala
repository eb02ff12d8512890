// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.prefixes

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.Crc
import sallyport.common.registers.map.{HopGroupRow, PrefixRow}
import sallyport.common.table.{DirectTable, TablePort}

/** Where the longest prefix leads to. */
class Route extends Bundle {

  /** There is a prefix. */
  val hit = Bool()

  /** It is a network of the port itself. */
  val connected = Bool()

  /** Next-hop row of any other. */
  val hop = UInt(HopGroupRow.hop0.width.W)
}

/**
 * Chooses one of the next hops of a group (table `hop_group`), the same for all packets of a flow:
 * each has an equal part of the hashes (RFC 2992, hash-threshold).
 *
 * Latency [[HopGroups.latency]] cycles, a packet a cycle.
 */
class HopGroups extends Module {
  val io = IO(new Bundle {

    /** 0 is none. */
    val group = Input(UInt(PrefixRow.group0.width.W))
    val hash = Input(UInt(HopGroups.hashBits.W))
    val route = Output(new Route)

    /** The group's row is not valid or has a flipped bit. */
    val upset = Output(Bool())
    val table = Flipped(new TablePort)
    val ready = Output(Bool())
  })
  private val rows = DirectTable(1 << PrefixRow.group0.width, HopGroupRow, HopGroupRow.valid)
  rows.io.table <> io.table
  rows.io.clear := false.B
  rows.io.lookup.valid := io.group =/= 0.U
  rows.io.lookup.bits := io.group
  io.ready := rows.io.ready
  private val hash = ShiftRegister(io.hash, DirectTable.latency)

  private val row = rows.io.result.bits.row
  private val hops = Seq(HopGroupRow.hop0, HopGroupRow.hop1, HopGroupRow.hop2, HopGroupRow.hop3).map(_(row))
  private val last = HopGroupRow.last(row)
  private val chosen = MuxLookup(last, 0.U(2.W))((1 until hops.length).map { n =>
    // The hashes from which on each of the n + 1 next hops but the first is chosen.
    val from = (1 to n).map(hop => ((hop << HopGroups.hashBits) + n) / (n + 1))
    n.U -> PopCount(from.map(hash >= _.U))
  })
  private val asked = rows.io.result.valid
  private val hit = asked && rows.io.result.bits.hit
  io.route.hit := RegNext(hit, false.B)
  io.route.connected := RegNext(HopGroupRow.connected(row).asBool)
  io.route.hop := RegNext(Mux1H(UIntToOH(chosen), hops))
  io.upset := RegNext(asked && !hit, false.B)
}

object HopGroups {
  val hashBits: Int = 8

  /** The row, and the choice. */
  val latency: Int = DirectTable.latency + 1

  /** CRC-8 of 1-Wire, reflected. */
  private val crc = Crc(hashBits, 0x8c)

  /** Of a flow's addresses and label; 3 LUT levels. */
  def hash(flow: UInt): UInt = crc.contribution(flow, flow.getWidth)

  /** The same in Scala. */
  def hash(flow: BigInt, bits: Int): Int = crc.reference(0, flow, bits).toInt
}
