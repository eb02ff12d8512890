// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.registers.map.{RowField, SelectorRow}
import sallyport.iface.parse.PacketKey

/**
 * Compares a packet's [[PacketKey]] with the one selector set of its SA (RFC 4301 5.2 step 4): its
 * addresses with two prefixes, its ports, or of ICMP type and code, with two ranges, all else where
 * (packet & mask) = (value & mask).
 *
 * A packet without ports to read, such as a later fragment, has a value of its own in `upper` (RFC
 * 4301 4.4.1.1: OPAQUE). `within` leaves that, the ports and IPv6's protocol out: the first
 * fragment of the packet's datagram may say more of them. A pipeline without stalls; latency
 * [[SelectorMatch.latency]] cycles.
 */
class SelectorMatch extends Module {
  val io = IO(new Bundle {
    val key = Input(UInt(PacketKey.bits.W))
    val row = Input(UInt(SelectorRow.bits.W))
    val matches = Output(Bool())
    val within = Output(Bool())
  })

  private val row = io.row
  private val key = io.key

  // Stage 1: which bits count, which differ, and which numbers are out of their ranges.
  private val masks = Cat(
    SelectorRow.upperMask(row),
    SelectorRow.versionMask(row),
    SelectorRow.protocolMask(row),
    0.U((SelectorRow.dstPort.width + SelectorRow.srcPort.width).W),
    SelectorMatch.leading(SelectorRow.dstPrefix(row)),
    SelectorMatch.leading(SelectorRow.srcPrefix(row))
  )
  private val counts1 = RegNext(masks)
  private val differs1 = RegNext(key ^ row(key.getWidth - 1, 0))
  private val outside1 = RegNext(VecInit(
    SelectorRow.srcPort(key) < SelectorRow.srcPort(row),
    SelectorRow.srcPort(key) > SelectorRow.srcPortLast(row),
    SelectorRow.dstPort(key) < SelectorRow.dstPort(row),
    SelectorRow.dstPort(key) > SelectorRow.dstPortLast(row)
  ))

  // Stages 2 and 3: whether any bit that counts differs, or any number is outside.
  private val wrong = Wire(UInt(key.getWidth.W))
  wrong := counts1 & differs1
  private def some(bits: UInt): UInt =
    RegNext(VecInit(bits.asBools.grouped(SelectorMatch.group).map(VecInit(_).asUInt.orR).toSeq).asUInt)
  private def of(field: RowField): UInt = wrong(field.lsb + field.width - 1, field.lsb)
  private val addresses2 =
    some(Cat(of(SelectorRow.version), of(SelectorRow.dstAddr), of(SelectorRow.srcAddr))).orR
  private val protocol2 = some(of(SelectorRow.protocol)).orR
  private val upper2 = some(of(SelectorRow.upper)).orR
  private val outside2 = RegNext(outside1.asUInt.orR)
  private val v6 = ShiftRegister(SelectorRow.version(key)(1), 2)
  io.matches := RegNext(!addresses2 && !protocol2 && !upper2 && !outside2)
  io.within := RegNext(!addresses2 && (v6 || !protocol2))
}

object SelectorMatch {
  val latency: Int = 3

  /** Bits that one register of stage 2 sums up. */
  private val group: Int = 18

  /** 128 bits, the `count` highest of them set. */
  private def leading(count: UInt): UInt = VecInit.tabulate(128)(i => count > (127 - i).U).asUInt
}
