// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketBeat, PacketStream}

/**
 * Takes the fragment header out of the chain of IPv6 headers: where 44 stands, its own next header
 * comes (RFC 8200 4.5).
 */
object NextHeaderMender {

  /**
   * The stream with that byte in the first two beats of every IPv6 packet; combinational. Of later
   * fragments it is not kept.
   */
  def apply(in: DecoupledIO[PacketBeat[FragmentInfo]]): DecoupledIO[PacketBeat[FragmentInfo]] = {
    val position = RegInit(0.U(2.W))
    when(in.fire) { position := Mux(in.bits.last, 0.U, position | Mux(position === 0.U, 1.U, 2.U)) }

    val out = Wire(chiselTypeOf(in))
    out <> in
    val meta = in.bits.meta
    val here = meta.ipv6 && !position(1) && meta.nextHeaderAt(6) === position(0)
    out.bits.data := VecInit
      .tabulate(PacketStream.dataBytes) { n =>
        Mux(here && meta.nextHeaderAt(5, 0) === n.U, meta.nextHeader, in.bits.data(8 * n + 7, 8 * n))
      }
      .asUInt
    out
  }
}
