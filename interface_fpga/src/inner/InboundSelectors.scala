// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{Action, RuleRow, SelectorRow}
import sallyport.common.table.{TablePort, TernaryTable, TernaryTableParams}
import sallyport.iface.parse.{PacketKey, SpdKey}

/** A packet from black: decrypted, with its SA's selector row, or in clear. */
class SelectedPacket extends Bundle {
  val key = UInt(PacketKey.bits.W)

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
 * it is not. A rule sees the network of the row, and of a packet in clear network 0.
 *
 * An ICMP error that is not allowed by itself is allowed if the return traffic of the packet in it
 * is (RFC 4301 6.2): `returning` holds the key of that traffic a cycle before the error
 * ([[sallyport.iface.parse.ReturnTraffic]]). No error in clear is allowed so.
 *
 * A pipeline without stalls: `allowed` belongs to the `packet` of `latency` cycles before. A packet
 * comes at most every second cycle, and `row` and `clear` are there a cycle before it. Rules are
 * looked up for packets that need them alone. No wire brings ICMP errors, which take two cycles,
 * faster than every 2.25 cycles, so that software always finds a cycle for its writes. While
 * `ready` is low no rule matches.
 *
 * `within` comes with `allowed`: the packet may be one of its SA if another fragment says more of
 * it ([[SelectorMatch]]). Rules leave that open.
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
    val returning = Flipped(Valid(UInt(PacketKey.bits.W)))

    /** Straight from the rules' memory and registers, behind a comparison of a group. */
    val allowed = Output(Bool())
    val within = Output(Bool())
    val upset = Output(Bool())

    /** A look-up met a rule with a flipped bit. */
    val ruleRowUpset = Output(Bool())
    val table = Flipped(new TablePort)
    val ready = Output(Bool())
  })

  private val packet = io.packet.bits
  private val returns = io.returning.valid && !packet.clear
  private val key = Mux(io.packet.valid, packet.key, io.returning.bits)
  private val one = Module(new SelectorMatch)
  one.io.key := key
  one.io.row := packet.row

  private val table = TernaryTable(rules, ruleTable)
  private val byRules = packet.clear || SelectorRow.byRules(packet.row).asBool
  table.io.table <> io.table
  table.io.clear := false.B
  table.io.lookup.valid := (io.packet.valid || returns) && byRules
  table.io.lookup.bits := SpdKey(Mux(packet.clear, 0.U, SelectorRow.network(packet.row)), key)
  io.ready := table.io.ready

  private def later[T <: Data](value: T, since: Int = 0): T = ShiftRegister(value, latency - since)
  private val first = later(table.io.result.bits, table.latency)
  private val clear = later(packet.clear)
  private val group = later(SelectorRow.group(packet.row))
  private val wanted = RuleRow.action(first.row) === Mux(clear, Action.bypass.U, Action.protect.U)
  private val byRule = first.hit && wanted && (clear || RuleRow.sa(first.row) === group)
  private val fits = Mux(later(byRules), byRule, later(one.io.matches, SelectorMatch.latency))
  private val upset = later(byRules) && later(table.upset, table.latency)

  // The answer of the cycle before is that of the return traffic.
  private val returned = ShiftRegister(returns, latency, false.B, true.B)
  io.within := later(byRules) || later(one.io.within, SelectorMatch.latency)
  io.allowed := fits || RegNext(returned && fits, false.B)
  io.upset := upset || !fits && RegNext(returned && upset, false.B)
  io.ruleRowUpset := table.rowUpset
}
