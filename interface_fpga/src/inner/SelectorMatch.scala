package sallyport.iface

import chisel3._
import sallyport.common.regs.SelectorRow

/**
 * Compares a packet with the selectors of its SA (RFC 4301 5.2 step 4).
 *
 * Matches where (packet & mask) = (value & mask) in every selector. A selector of ports (its mask is not 0) matches only a
 * packet whose ports are there to read: not a later fragment, not another protocol (RFC 4301 4.4.1.1: OPAQUE is a value of
 * its own). A pipeline without stalls; latency [[SelectorMatch.latency]] cycles.
 */
class SelectorMatch extends Module {
  val io = IO(new Bundle {
    val fields = Input(new HeaderFields)
    val row = Input(UInt(SelectorRow.bits.W))
    val matches = Output(Bool())
  })

  private def same(packet: UInt, value: UInt, mask: UInt): Bool = RegNext(((packet ^ value) & mask) === 0.U)
  private val row = io.row
  private val fields = io.fields
  private val sourcePortMask = SelectorRow.srcPortMask(row)
  private val destinationPortMask = SelectorRow.dstPortMask(row)
  private val portsThere = RegNext(fields.hasPorts || (sourcePortMask | destinationPortMask) === 0.U)

  io.matches := RegNext(
    portsThere &&
      same(fields.source(31, 0), SelectorRow.srcAddr(row), SelectorRow.srcMask(row)) &&
      same(fields.destination(31, 0), SelectorRow.dstAddr(row), SelectorRow.dstMask(row)) &&
      same(fields.protocol, SelectorRow.protocol(row), SelectorRow.protocolMask(row)) &&
      same(fields.sourcePort, SelectorRow.srcPort(row), sourcePortMask) &&
      same(fields.destinationPort, SelectorRow.dstPort(row), destinationPortMask)
  )
}

object SelectorMatch {
  val latency: Int = 2
}
