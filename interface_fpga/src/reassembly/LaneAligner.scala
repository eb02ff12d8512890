// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketStream, RegisterSlice}

/** A beat of a packet without its byte count: bytes behind the packet's end have no meaning. */
class AlignedBeat[M <: Data](metaType: M) extends Bundle {
  val data = UInt(PacketStream.dataBits.W)
  val last = Bool()
  val meta = metaType.cloneType
}

/**
 * Puts 0 to 7 zero bytes in front of every packet, so that its payload begins in a lane (8 bytes)
 * of its own.
 *
 * One beat a cycle; a packet that needs one beat more than before stalls the input for one cycle.
 * If such a beat would hold only bytes behind the last lane that counts, it is left out. Latency 2
 * cycles, registered both ways. Never drops.
 *
 * @param pad zero bytes in front of a packet
 * @param end lanes of a packet that count, with `pad`
 */
class LaneAligner[M <: Data](meta: M)(pad: M => UInt, end: M => UInt) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val out = Decoupled(new AlignedBeat(meta))
  })

  private val in = RegisterSlice(io.in)
  private val valid = RegInit(false.B)
  private val out = Reg(new AlignedBeat(meta))
  io.out.valid := valid
  io.out.bits := out

  // The last 7 bytes of the beat before; the tail is a beat of zeros behind them.
  private val carryBits = 8 * (ReassemblyConfig.unitBytes - 1)
  private val carry = RegInit(0.U(carryBits.W))
  private val tail = RegInit(false.B)
  private val amount = Mux(tail, pad(out.meta), pad(in.bits.meta))
  private val window = Cat(Mux(tail, 0.U, in.bits.data), carry)
  private val advance = !valid || io.out.ready
  private val lanes = PacketStream.dataBytes / ReassemblyConfig.unitBytes
  private val behind = RegInit(lanes.U(end(meta).getWidth.W))
  private val spills =
    in.bits.bytes +& pad(in.bits.meta) > PacketStream.dataBytes.U && end(in.bits.meta) > behind
  in.ready := advance && !tail
  when(advance) {
    valid := in.valid || tail
    tail := !tail && in.valid && in.bits.last && spills
    out.data := VecInit.tabulate(8)(n => window(8 * (7 - n) + PacketStream.dataBits - 1, 8 * (7 - n)))(amount)
    out.last := tail || (in.bits.last && !spills)
    when(!tail) { out.meta := in.bits.meta }
  }
  when(in.fire) { behind := Mux(in.bits.last, lanes.U, behind + lanes.U) }
  when(in.fire) { carry := Mux(in.bits.last && !spills, 0.U, in.bits.data >> (PacketStream.dataBits - carryBits)) }
    .elsewhen(advance && tail) { carry := 0.U }
}
