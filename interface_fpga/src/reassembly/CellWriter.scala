// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import ReassemblyConfig._
import sallyport.common.stream.{PacketStream, RegisterSlice}

/** One cycle's write to [[CellBuffer]]. */
class CellWrite(p: ReassemblyConfig) extends Bundle {
  val lanes = Vec(beatUnits, UInt((8 * unitBytes).W))

  /** Lanes that are written. */
  val enable = UInt(beatUnits.W)

  /** Lanes that go to `next`, the others go to `row`. */
  val wraps = UInt(beatUnits.W)
  val row = UInt((p.cellBits + log2Ceil(cellRows)).W)
  val next = UInt((p.cellBits + log2Ceil(cellRows)).W)
}

/**
 * Writes accepted fragments to their cells: each lane to the place that the fragment's offset gives
 * it. The header of a first fragment ends where its payload begins: the lanes of an IPv6 header
 * move up by one, over the fragment header.
 *
 * A beat a cycle; its write leaves 2 cycles later. The last beat of a fragment that makes its
 * datagram whole goes with the `replay`, and waits until that is taken.
 */
class CellWriter(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Decoupled(new AlignedBeat(new FragmentVerdict(p))))
    val write = Valid(new CellWrite(p))
    val replay = Decoupled(new DatagramReplay(p))
  })

  private val in = RegisterSlice(io.in)
  private val layout = in.bits.meta.layout
  private val completes = in.bits.last && in.bits.meta.complete
  io.replay.valid := in.valid && completes
  io.replay.bits := in.bits.meta.replay
  in.ready := !completes || io.replay.ready

  // Lanes in front of this beat, in its packet, and the last of them.
  private val laneBits = 8 * unitBytes
  private val before = RegInit(0.U(p.unitBits.W))
  private val carry = Reg(UInt(laneBits.W))
  when(in.fire) {
    before := Mux(in.bits.last, 0.U, before + beatUnits.U)
    carry := in.bits.data(PacketStream.dataBits - 1, PacketStream.dataBits - laneBits)
  }

  // What each lane gets and which are kept; the unit of lane 0.
  private class Turn extends Bundle {
    val lanes = Vec(beatUnits, UInt(laneBits.W))
    val enable = UInt(beatUnits.W)
    val unit = UInt(p.unitBits.W)
    val cells = Vec(p.pages, UInt(p.cellBits.W))
  }
  private val low = Mux(layout.first, layout.gap, layout.payload)
  private val turn1 = Reg(new Turn)
  private val valid1 = RegNext(in.fire, false.B)
  turn1.lanes := VecInit.tabulate(beatUnits) { n =>
    val end = laneBits * n
    val below = if (n == 0) carry else in.bits.data(end - 1, end - laneBits)
    Mux(layout.gap && before + n.U <= layout.headerEnd, below, in.bits.data(end + laneBits - 1, end))
  }
  turn1.enable := VecInit.tabulate(beatUnits) { n =>
    val at = before + n.U
    at >= low && at < layout.payloadEnd
  }.asUInt
  turn1.unit := layout.payloadBase + before
  turn1.cells := in.bits.meta.replay.pages.cells

  // Turned; the cells of its two rows.
  private val turned = Reg(new CellWrite(p))
  private val turn = turn1.unit(2, 0)
  private val row = (turn1.unit >> log2Ceil(beatUnits)).asUInt
  private def address(row: UInt): UInt =
    Cat(turn1.cells(row(row.getWidth - 1, log2Ceil(cellRows))), row(log2Ceil(cellRows) - 1, 0))
  for (to <- 0 until beatUnits)
    turned.lanes(to) := VecInit.tabulate(beatUnits)(by => turn1.lanes((to - by + beatUnits) % beatUnits))(turn)
  turned.enable := VecInit.tabulate(beatUnits)(by => turn1.enable.rotateLeft(by))(turn)
  turned.wraps := VecInit.tabulate(beatUnits)(to => to.U < turn).asUInt
  turned.row := address(row)
  turned.next := address(row + 1.U)
  io.write.bits := turned
  io.write.valid := RegNext(valid1, false.B)
}
