// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.parse

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{FlowRow, RowField}

/** The key of flows and rules: a [[PacketKey]], and above it the network of the packet. */
object SpdKey {

  /** In order from bit 0. */
  val fields: Seq[RowField] = PacketKey.fields :+ FlowRow.network

  def apply(network: UInt, packet: UInt): UInt = Cat(network, packet)
}
