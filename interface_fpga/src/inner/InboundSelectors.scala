// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{Action, RuleRow, SelectorRow}
import sallyport.common.table.{TablePort, TernaryTable, TernaryTableParams}
import sallyport.iface.parse.{HeaderFields, PacketKey}

/** A packet from black: decrypted, with its SA's selector row, or in clear. */
class SelectedPacket extends Bundle {
  val fields = new HeaderFields

  /** It came in clear: it has no SA, and `row` means nothing. */
  val clear = Bool()
  val row = UInt(SelectorRow.bits.W)
}

/**
 * Whether a decrypted packet is one of its SA (RFC 4301 5.2 step 4), and whether one that came in
 * clear may come in so (step 3b).
 *
 * An SA with one selector set has it in its row ([[SelectorMatch]]), and so costs no rule. One
 * whose row says `by_rules` may have several (RFC 4301 4.4.1.2). Then an ordered search of the
 * rules judges its packet: it is allowed if the first rule that it matches is a PROTECT of the
 * row's group (RFC 4301 4.4.1). SAs of the same sets share a group, so that a rekeying writes
 * no rule. A packet in clear is allowed if the first rule that it matches is a BYPASS; without any
 * it is not.
 *
 * A pipeline without stalls: `allowed` belongs to the `packet` of `latency` cycles before. Rules
 * are looked up for packets that need them alone, at most every second cycle, so that software
 * always finds a cycle for its writes. While `ready` is low no rule matches.
 *
 * `upset` comes with `allowed` and says that a rule that it depends on has a flipped bit.
 *
 * @param rules rows of the rule table
 * @param ruleTable makes that table
 */
class InboundSelectors(rules: Int, ruleTable: TernaryTableParams => TernaryTable = new TernaryTable(_))
    extends Module {
  val latency: Int = TernaryTable.latency(rules) max SelectorMatch.latency

  val io = IO(new Bundle {
    val packet = Flipped(Valid(new SelectedPacket))

    /** Straight from the rules' memory or a register, behind a comparison of a group. */
    val allowed = Output(Bool())
    val upset = Output(Bool())

    /** A look-up met a rule with a flipped bit. */
    val ruleRowUpset = Output(Bool())
    val table = Flipped(new TablePort)
    val ready = Output(Bool())
  })

  private val packet = io.packet.bits
  private val one = Module(new SelectorMatch)
  one.io.fields := packet.fields
  one.io.row := packet.row

  private val table = TernaryTable(rules, ruleTable)
  private val byRules = packet.clear || SelectorRow.byRules(packet.row).asBool
  table.io.table <> io.table
  table.io.clear := false.B
  table.io.lookup.valid := io.packet.valid && byRules
  table.io.lookup.bits := PacketKey(packet.fields)
  io.ready := table.io.ready

  private def later[T <: Data](value: T, since: Int = 0): T = ShiftRegister(value, latency - since)
  private val first = later(table.io.result.bits, table.latency)
  private val clear = later(packet.clear)
  private val group = later(SelectorRow.group(packet.row))
  private val wanted = RuleRow.action(first.row) === Mux(clear, Action.bypass.U, Action.protect.U)
  private val byRule = first.hit && wanted && (clear || RuleRow.sa(first.row) === group)
  io.allowed := Mux(later(byRules), byRule, later(one.io.matches, SelectorMatch.latency))
  io.upset := later(byRules) && later(table.upset, table.latency)
  io.ruleRowUpset := table.rowUpset
}
