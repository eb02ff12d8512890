// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import sallyport.common.registers.map.{FlowRow, RuleRow}
import sallyport.common.stream.PacketStream
import sallyport.common.table.TableResult
import sallyport.iface.tfc.TfcPadder

/** Answer of one of the two SPD tables. */
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

  /** A look-up's answer in either table. */
  def apply(result: TableResult): SpdAnswer = {
    val answer = Wire(new SpdAnswer)
    answer.hit := result.hit
    answer.action := FlowRow.action(result.row)
    answer.sa := FlowRow.sa(result.row)
    answer.priority := FlowRow.priority(result.row)
    answer.mtu := FlowRow.mtu(result.row)
    answer.fragment := FlowRow.fragment(result.row)
    answer.transport := FlowRow.transport(result.row)
    answer.tfc := FlowRow.tfc(result.row)
    answer.byDscp := FlowRow.byDscp(result.row)
    answer.clamp := FlowRow.clamp(result.row)
    answer.usage := FlowRow.usage(result.row)
    answer
  }
}
