package sallyport.common

import chisel3._
import chisel3.util._

/**
 * Puts a header of a fixed number of bytes in front of every packet.
 *
 * The header comes from the metadata, byte 0 in bits 7:0. One output beat a cycle: a packet that needs one beat more
 * than before stalls the input for one cycle. Latency 2 cycles, registered both ways. `error` passes. Never drops.
 *
 * @param headerBytes bytes of the header, 1 to 63
 * @param header the header of a packet
 */
class PacketPrepender[M <: Data](meta: M, headerBytes: Int)(header: M => UInt) extends Module {
  require(headerBytes > 0 && headerBytes < 64, s"PacketPrepender of $headerBytes bytes: 1 to 63 are possible")

  val io = IO(new Bundle {
    val in = Flipped(PacketStream(meta))
    val out = PacketStream(meta)
  })

  private val in = RegisterSlice(io.in)
  private val valid = RegInit(false.B)
  private val out = Reg(new PacketBeat(meta))
  io.out.valid := valid
  io.out.bits := out

  private val headerBits = 8 * headerBytes
  private val first = RegInit(true.B)
  private val carry = Reg(UInt(headerBits.W))
  private val tail = RegInit(false.B)
  private val tailBytes = Reg(UInt(6.W))
  private val tailError = Reg(Bool())

  private val advance = !valid || io.out.ready
  private val total = in.bits.bytes +& headerBytes.U
  private val spills = total > 64.U
  in.ready := advance && !tail
  when(advance) {
    valid := in.valid || tail
    tail := !tail && in.valid && in.bits.last && spills
    when(tail) {
      out.data := carry
      out.bytes := tailBytes
      out.last := true.B
      out.error := tailError
    }.otherwise {
      out.data := Cat(in.bits.data(PacketStream.dataBits - headerBits - 1, 0), Mux(first, header(in.bits.meta), carry))
      out.bytes := Mux(spills, 64.U, total(6, 0))
      out.last := in.bits.last && !spills
      out.error := in.bits.error
      out.meta := in.bits.meta
    }
  }
  when(in.fire) {
    first := in.bits.last
    carry := in.bits.data >> (PacketStream.dataBits - headerBits)
    tailBytes := total(5, 0)
    tailError := in.bits.error
  }
}
