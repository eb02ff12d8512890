// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{DscpMapRow, TunnelRow}
import sallyport.common.table.TableResult
import sallyport.iface.parse.PriorityClass

/** Template of the outer headers of one outbound SA: a row of the tunnel table. */
class TunnelTemplate extends Bundle {
  val valid = Bool()

  /** IPv6, not IPv4. */
  val v6 = Bool()

  /** An IPv4 address stands in the low 32 bits. */
  val source = UInt(128.W)
  val destination = UInt(128.W)

  /** TTL or hop limit. */
  val ttl = UInt(8.W)

  /** Of IPv6 (RFC 6437). */
  val flowLabel = UInt(20.W)

  /** Copy DSCP from the inner header, else use `dscp` (RFC 4301 5.1.2.1 note 5). */
  val dscpCopy = Bool()
  val dscp = UInt(6.W)

  /** Instead of both, the DSCP is what array `dscp` of the map makes of the inner one. */
  val dscpMap = Bool()

  /** The row of the map for a packet of some DSCP. */
  def mapRow(inner: UInt): UInt = Cat(dscp(log2Ceil(TunnelTemplate.dscpArrays) - 1, 0), inner)

  /** The same with the DSCP that this row gives, if it asked for one. One LUT level. */
  def mapped(answer: TableResult): TunnelTemplate = {
    val template = WireDefault(this)
    when(dscpMap) {
      template.dscpCopy := !answer.hit
      template.dscp := DscpMapRow.dscp(answer.row)
    }
    template
  }

  /** Of IPv4: 0 copy from the inner header, 1 set, 2 clear (RFC 4301 8.1); 3 is as 1. */
  val dfMode = UInt(2.W)

  /** RFC 6040 normal mode (copy), else compatibility mode (Not-ECT). */
  val ecnCopy = Bool()
  val nextHop = UInt(8.W)

  /** Largest outer packet in bytes; 0 leaves it to the port. */
  val mtu = UInt(14.W)

  /** A UDP header with these ports stands in front of ESP (RFC 3948). */
  val encap = Bool()
  val sourcePort = UInt(16.W)
  val destinationPort = UInt(16.W)
}

object TunnelTemplate {

  /** Arrays of the DSCP map, each with an entry for every DSCP. */
  val dscpArrays: Int = 16
  val mapRows: Int = dscpArrays * PriorityClass.dscps

  /** A look-up's answer in the table as a template; no answer is not `valid`. */
  def apply(answer: TableResult): TunnelTemplate = {
    val template = Wire(new TunnelTemplate)
    template.valid := answer.hit
    template.v6 := TunnelRow.v6(answer.row)
    template.flowLabel := TunnelRow.flowLabel(answer.row)
    template.source := TunnelRow.srcAddr(answer.row)
    template.destination := TunnelRow.dstAddr(answer.row)
    template.ttl := TunnelRow.ttl(answer.row)
    template.dscpCopy := TunnelRow.dscpCopy(answer.row)
    template.dscp := TunnelRow.dscp(answer.row)
    template.dscpMap := TunnelRow.dscpMap(answer.row)
    template.dfMode := TunnelRow.dfMode(answer.row)
    template.ecnCopy := TunnelRow.ecnCopy(answer.row)
    template.nextHop := TunnelRow.nextHop(answer.row)
    template.mtu := TunnelRow.mtu(answer.row)
    template.encap := TunnelRow.encap(answer.row)
    template.sourcePort := TunnelRow.srcPort(answer.row)
    template.destinationPort := TunnelRow.dstPort(answer.row)
    template
  }
}
