package sallyport.iface

import chisel3._
import chisel3.util._
import sallyport.common._

import ReassemblyConfig._

/** What is written to [[CellBuffer]] in one cycle. */
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
 * Writes accepted fragments to their cells: each lane to the place that the fragment's offset gives it, the header of a
 * first fragment so that it ends where the payload begins.
 *
 * A beat a cycle; a beat with header of an IPv6 first fragment takes two, since its fragment header is left out. A
 * write leaves 2 cycles after its beat. The last beat of a fragment that makes its datagram whole goes with its
 * `replay`, which waits until that is taken.
 */
class CellWriter(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Decoupled(new AlignedBeat(new FragmentVerdict(p))))
    val write = Valid(new CellWrite(p))
    val replay = Decoupled(new DatagramReplay(p))
  })

  private val in = RegisterSlice(io.in)
  private val layout = in.bits.meta.layout

  // Lanes in front of this beat, in its packet.
  private val before = RegInit(0.U(p.unitBits.W))
  private val second = RegInit(false.B)
  private val headerAlone = layout.first && layout.gap && before < layout.headerEnd && !second
  private val ends = in.bits.last && !headerAlone
  private val completes = ends && in.bits.meta.complete
  io.replay.valid := in.valid && completes
  io.replay.bits := in.bits.meta.replay
  in.ready := !headerAlone && (!completes || io.replay.ready)
  when(in.valid) { second := headerAlone }
  when(in.fire) { before := Mux(in.bits.last, 0.U, before + beatUnits.U) }

  // Which lanes, and how far they are turned.
  private class Turn extends Bundle {
    val data = UInt(PacketStream.dataBits.W)
    val enable = UInt(beatUnits.W)
    val unit = UInt(p.unitBits.W)
    val cells = Vec(p.pages, UInt(p.cellBits.W))
  }
  private val low = Mux(layout.first && !layout.gap || headerAlone, 0.U, layout.payload)
  private val high = Mux(headerAlone, layout.headerEnd, layout.payloadEnd)
  private val turn1 = Reg(new Turn)
  private val valid1 = RegNext(in.fire || in.valid && headerAlone, false.B)
  turn1.data := in.bits.data
  turn1.enable := VecInit.tabulate(beatUnits) { lane =>
    val at = before + lane.U
    at >= low && at < high
  }.asUInt
  turn1.unit := Mux(headerAlone, layout.headerBase, layout.payloadBase) + before
  turn1.cells := in.bits.meta.replay.pages.cells

  // Turned; the cells of its two rows.
  private val turned = Reg(new CellWrite(p))
  private val turn = turn1.unit(2, 0)
  private val row = (turn1.unit >> log2Ceil(beatUnits)).asUInt
  private def address(row: UInt): UInt =
    Cat(turn1.cells(row(row.getWidth - 1, log2Ceil(cellRows))), row(log2Ceil(cellRows) - 1, 0))
  private def lane(n: Int): UInt = turn1.data(64 * n + 63, 64 * n)
  for (to <- 0 until beatUnits)
    turned.lanes(to) := VecInit.tabulate(beatUnits)(by => lane((to - by + beatUnits) % beatUnits))(turn)
  turned.enable := VecInit
    .tabulate(beatUnits)(by => turn1.enable.rotateLeft(by))(turn)
  turned.wraps := VecInit.tabulate(beatUnits)(to => to.U < turn).asUInt
  turned.row := address(row)
  turned.next := address(row + 1.U)
  io.write.bits := turned
  io.write.valid := RegNext(valid1, false.B)
}
