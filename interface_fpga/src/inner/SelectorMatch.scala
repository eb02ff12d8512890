package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common.regs.SelectorRow

/**
 * Compares a packet with the selectors of its SA (RFC 4301 5.2 step 4): its addresses with two prefixes, all else where
 * (packet & mask) = (value & mask).
 *
 * What has no ports to read, a later fragment among it, is a value of its own in `upper` (RFC 4301 4.4.1.1: OPAQUE). A
 * pipeline without stalls; latency [[SelectorMatch.latency]] cycles.
 */
class SelectorMatch extends Module {
  val io = IO(new Bundle {
    val fields = Input(new HeaderFields)
    val row = Input(UInt(SelectorRow.bits.W))
    val matches = Output(Bool())
  })

  private val row = io.row
  private val key = PacketKey(io.fields)

  // Stage 1: which bits count, and which differ.
  private val masks = Cat(
    SelectorRow.upperMask(row),
    SelectorRow.versionMask(row),
    SelectorRow.protocolMask(row),
    SelectorRow.dstPortMask(row),
    SelectorRow.srcPortMask(row),
    SelectorMatch.leading(SelectorRow.dstPrefix(row)),
    SelectorMatch.leading(SelectorRow.srcPrefix(row))
  )
  private val counts1 = RegNext(masks)
  private val differs1 = RegNext(key ^ row(key.getWidth - 1, 0))

  // Stages 2 and 3: whether any of those is one of these.
  private val wrong = Wire(UInt(key.getWidth.W))
  wrong := counts1 & differs1
  private val some2 = RegNext(VecInit(wrong.asBools.grouped(SelectorMatch.group).map(VecInit(_).asUInt.orR).toSeq))
  io.matches := RegNext(!some2.asUInt.orR)
}

object SelectorMatch {
  val latency: Int = 3

  /** Bits that one register of stage 2 sums up. */
  private val group: Int = 18

  /** 128 bits, the `count` highest of them set. */
  private def leading(count: UInt): UInt = VecInit.tabulate(128)(i => count > (127 - i).U).asUInt
}
