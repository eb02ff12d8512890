// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import sallyport.common.registers.map.{FlowRow, PrefixPolicyRow, Row, RowField, RuleRow}
import sallyport.common.stream.PacketStream
import sallyport.common.table.TableResult
import sallyport.iface.tfc.TfcPadder

/** Answer of one of the three SPD tables. */
class SpdAnswer extends Bundle {
  val hit = Bool()
  val action = UInt(2.W)
  val sa = UInt(16.W)
  val priority = UInt(32.W)

  /** Longest IP packet in bytes, 0 any; a longer one is cut if it may be. */
  val mtu = UInt(PacketStream.lengthBits.W)
  val fragment = Bool()

  /** PROTECT means transport mode. */
  val transport = Bool()

  /** PROTECT: least length of a packet in units of 4 bytes ([[TfcPadder]]). */
  val tfc = UInt(TfcPadder.unitsBits.W)

  /** PROTECT: `sa` is a block of the SAs by DSCP. */
  val byDscp = Bool()

  /** PROTECT: the maximum segment size of TCP connections is lowered to `mtu`. */
  val clamp = Bool()

  /** Row that counts the policy's packets. */
  val usage = UInt(FlowRow.usage.width.W)
}

object SpdAnswer {
  require(FlowRow.fields.forall(RuleRow.fields.contains), "a rule row begins as a flow row")
  private def decision(row: Row): Seq[(String, RowField)] = row.fields.filter(_._2.lsb >= FlowRow.priority.lsb)
  require(decision(PrefixPolicyRow) == decision(FlowRow), "a row of prefix_policy decides as a flow row")

  /** A look-up's answer in the table of flows or of rules. */
  def apply(result: TableResult): SpdAnswer = {
    val answer = of(result.row)
    answer.hit := result.hit
    answer
  }

  /** What a valid row of any of the three says, as a hit. */
  def of(row: UInt): SpdAnswer = {
    val answer = Wire(new SpdAnswer)
    answer.hit := true.B
    answer.action := FlowRow.action(row)
    answer.sa := FlowRow.sa(row)
    answer.priority := FlowRow.priority(row)
    answer.mtu := FlowRow.mtu(row)
    answer.fragment := FlowRow.fragment(row)
    answer.transport := FlowRow.transport(row)
    answer.tfc := FlowRow.tfc(row)
    answer.byDscp := FlowRow.byDscp(row)
    answer.clamp := FlowRow.clamp(row)
    answer.usage := FlowRow.usage(row)
    answer
  }
}
