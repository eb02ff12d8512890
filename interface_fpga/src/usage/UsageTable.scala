// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.usage

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{PolicyUsageRow, SaUsageRow}
import sallyport.common.stream.PacketStream
import sallyport.common.table.{TableAccess, TablePort}

/** An SA has reached a limit. */
class UsageEvent extends Bundle {
  val sa = UInt(16.W)

  /** A hard limit; else a soft one. */
  val hard = Bool()

  /** Which count reached its limit; both, if one packet reached both limits. */
  val bytes = Bool()
  val packets = Bool()
}

/** A packet to be counted, [[UsageTable.latency]] cycles after its row was named. */
class UsageCharge extends Bundle {

  /**
   * It goes on, unless its SA has expired; else it is dropped for another reason and does
   * not count.
   */
  val counts = Bool()
  val bytes = UInt(PacketStream.lengthBits.W)
}

/**
 * Packets and bytes of each SA or policy, and the lifetimes of SAs (RFC 4301 4.4.2.1).
 *
 * `read` names a packet's row. [[UsageTable.latency]] cycles later `expired` says whether the row
 * had reached a hard limit before this packet, and `charge` whether the packet counts, which it
 * does not if `expired`. So a limit of N packets lets N pass; one of bytes is reached by the packet
 * that crosses it, which passes, and the next does not. Exact to the packet, for a packet every
 * second cycle of one row.
 *
 * `event` pulses two cycles after the charge that reaches a limit: once for soft limits, once for
 * hard ones, and for hard ones alone if both come at once. Rows are those of [[SaUsageRow]] or,
 * without limits, [[PolicyUsageRow]]: software writes the counter less its hard limit, so that a
 * carry out is all that has to be noticed. Software reads and writes a row under traffic in order
 * with its packets; neither waits. After reset every row is cleared, one a cycle; a packet before
 * `ready` does not count.
 *
 * @param limited the rows have limits
 */
class UsageTable(indexBits: Int, limited: Boolean) extends Module {
  require(indexBits >= 1 && indexBits <= 20, s"a usage table has 2 to 2^20 rows, not 2^$indexBits")
  require(!limited || indexBits <= 16, s"an SA's number has 1 to 16 bits, not $indexBits")
  require(PolicyUsageRow.fields.map(_._2) == SaUsageRow.fields.map(_._2).take(2), "counters stand alike in both rows")

  val io = IO(new Bundle {
    val read = Flipped(Valid(UInt(indexBits.W)))
    val charge = Input(new UsageCharge)
    val expired = Output(Bool())
    val event = Valid(new UsageEvent)
    val table = Flipped(new TablePort)
    val ready = Output(Bool())
  })
  import UsageTable.{State, latency}

  private val rows = 1 << indexBits
  private val rowBits = if (limited) SaUsageRow.bits else PolicyUsageRow.bits
  private val access = Module(new TableAccess(rows, rowBits, rows, writeOnly = false, readLatency = latency + 1))
  access.io.table <> io.table
  access.io.clear := false.B
  private val ready = ShiftRegister(access.io.ready, UsageMemory.writeInterval, false.B, true.B)
  io.ready := ready
  private val software = access.io.memory
  private val row = software.bits.row

  private val memory = Module(new UsageMemory(indexBits, (new State(limited)).getWidth))
  private val names = io.read.valid && ready
  memory.io.read.valid := names
  memory.io.read.bits := io.read.bits
  memory.io.clearing := access.io.clearing
  memory.io.software.valid := software.valid
  software.ready := memory.io.software.ready
  memory.io.software.bits.write := software.bits.write
  memory.io.software.bits.row := software.bits.index
  private val written = Wire(new State(limited))
  written.bytes := SaUsageRow.bytes(row)
  written.packets := SaUsageRow.packets(row)
  written.flags.foreach { flags =>
    flags.warned := SaUsageRow.warned(row)
    flags.expired := SaUsageRow.expired(row)
  }
  memory.io.software.bits.state := written.asUInt

  // Stage 4, `latency` cycles behind a row's name: the row as the packets before this one left it.
  // Stage 5: the row with this one. What wraps has reached its limit.
  private val state4 = memory.io.state.asTypeOf(new State(limited))
  private val expired4 = state4.flags.fold(false.B)(_.expired)
  private val valid4 = ShiftRegister(names, latency, false.B, true.B)
  private val charges5 = RegNext(valid4 && io.charge.counts && !expired4, false.B)
  private val bytes5 = RegNext(state4.bytes +& io.charge.bytes)
  private val packets5 = RegNext(state4.packets +& 1.U)
  io.expired := valid4 && expired4
  private val state5 = Wire(new State(limited))
  state5.bytes := bytes5.tail(1)
  state5.packets := packets5.tail(1)
  memory.io.update.valid := charges5
  memory.io.update.bits := state5.asUInt

  if (limited) {
    // The soft limits never change in the pipeline: a memory without forwarding, written in the
    // order of the reads. All that leads to its blocks comes from registers.
    val limitBits = SaUsageRow.softBytes.width
    val softLimits = SyncReadMem(rows, UInt((2 * limitBits).W))
    val row1 = RegNext(Mux(names, io.read.bits, software.bits.index))
    val limits1 = RegNext(row(SaUsageRow.softPackets.msb, SaUsageRow.softBytes.lsb))
    when(RegNext(software.fire && software.bits.write, false.B))(softLimits.write(row1, limits1))
    val reads1 = RegNext(names || (software.fire && !software.bits.write), false.B)
    val limits4 = ShiftRegister(softLimits.read(row1, reads1), latency - 2)
    access.io.data := RegNext(
      Cat(state4.flags.get.expired, state4.flags.get.warned, limits4, state4.packets, state4.bytes)
    )

    def reached(counter: UInt, limit: UInt): Bool = limit.orR && counter >= limit
    val limits5 = RegNext(limits4)
    val warned5 = RegNext(state4.flags.get.warned)
    val softBytes = reached(bytes5, limits5(limitBits - 1, 0))
    val softPackets = reached(packets5, limits5(2 * limitBits - 1, limitBits))
    val hardBytes = bytes5(limitBits)
    val hardPackets = packets5(limitBits)
    val hard = hardBytes || hardPackets
    val warns = softBytes || softPackets
    state5.flags.get.warned := warned5 || warns
    state5.flags.get.expired := hard

    val event = Wire(new UsageEvent)
    event.sa := ShiftRegister(io.read.bits, latency + 1)
    event.hard := hard
    event.bytes := Mux(hard, hardBytes, softBytes)
    event.packets := Mux(hard, hardPackets, softPackets)
    io.event.valid := RegNext(charges5 && (hard || (warns && !warned5)), false.B)
    io.event.bits := RegNext(event)
  } else {
    access.io.data := RegNext(Cat(state4.packets, state4.bytes))
    io.event.valid := false.B
    io.event.bits := 0.U.asTypeOf(io.event.bits)
  }
}

object UsageTable {

  /** Cycles from a row's name to `charge` and `expired`. */
  val latency: Int = UsageMemory.latency

  private[iface] class Flags extends Bundle {
    val expired = Bool()
    val warned = Bool()
  }

  /** What packets change. */
  private[iface] class State(limited: Boolean) extends Bundle {
    val flags = Option.when(limited)(new Flags)
    val packets = UInt(SaUsageRow.packets.width.W)
    val bytes = UInt(SaUsageRow.bytes.width.W)
  }
}
