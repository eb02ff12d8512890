// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{DscpSaRow, PuntReason}
import sallyport.common.table.{DirectTable, TablePort}
import sallyport.iface.parse.PriorityClass

/**
 * Finds the SA of a packet whose SPD entry has one for each of several sets of DSCPs (RFC
 * 4301 4.4.2.1): with `byDscp` the verdict's SA is a block of table `dscp_sa`, and the row of the
 * packet's DSCP there has the SA. Where that is not valid the packet is punted as by policy, for
 * there is no SA for it yet; so it is if the block is none that there is. The packet of a row with
 * a flipped bit is dropped. Other verdicts pass as they are.
 *
 * A pipeline without stalls: one verdict a cycle, out [[SaByDscp.latency]] cycles later. The SA of
 * a row changes between two packets.
 */
class SaByDscp extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new InnerVerdict))
    val out = Valid(new InnerVerdict)
    val table = Flipped(new TablePort)
    val ready = Output(Bool())

    /** The row has a flipped bit, so the packet is dropped. */
    val upset = Output(Bool())
  })

  private val asked = io.in.bits
  private val blockBits = log2Ceil(SaByDscp.blocks)
  private val sas = DirectTable(SaByDscp.rows, DscpSaRow, DscpSaRow.valid)
  sas.io.table <> io.table
  sas.io.clear := false.B
  sas.io.lookup.valid := io.in.valid && asked.byDscp && (asked.link.sa >> blockBits) === 0.U
  sas.io.lookup.bits := Cat(asked.link.sa(blockBits - 1, 0), asked.dscp)
  io.ready := sas.io.ready

  private val verdict = WireDefault(ShiftRegister(asked, DirectTable.latency))
  private val by = ShiftRegister(asked.toLink && asked.byDscp, DirectTable.latency)
  private val answer = sas.io.result.bits
  verdict.byDscp := false.B
  verdict.dscp := 0.U
  when(by) {
    verdict.link.sa := DscpSaRow.sa(answer.row)
    when(!answer.hit) {
      verdict.toLink := false.B
      verdict.toPunt := !sas.upset
      verdict.reason := PuntReason.policy.U
    }
  }
  io.out.valid := ShiftRegister(io.in.valid, SaByDscp.latency, false.B, true.B)
  io.out.bits := RegNext(verdict)
  io.upset := RegNext(by && sas.upset, false.B)
}

object SaByDscp {

  /** Blocks of SAs, each with a row for every DSCP. */
  val blocks: Int = 64
  val rows: Int = blocks * PriorityClass.dscps
  val latency: Int = DirectTable.latency + 1
}
