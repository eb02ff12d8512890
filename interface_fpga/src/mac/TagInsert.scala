// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.mac

import chisel3._
import chisel3.util._
import sallyport.common.stream.{ConnectStream, HeaderPrepend, NoMeta, PacketStream}
import sallyport.iface.headers.VlanTags

/**
 * Puts the VLAN tags that a frame carries as metadata behind its addresses (IEEE 802.1Q 9.3).
 *
 * [[HeaderPrepend]] puts the frame's first bytes in front of it, as many as the tags have, and the
 * tags take the place that these leave behind the addresses. So a frame costs a cycle more where
 * its tags push its end into a further beat. A frame has 14 bytes or more. Latency 1 cycle. Stalls
 * only when `out` does; drops nothing. `in.ready` and every output come from registers.
 */
class TagInsert extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new VlanTags))
    val out = PacketStream(new NoMeta)
  })

  private val lengths = Seq.tabulate(VlanTags.most + 1)(_ * VlanTags.bytes)
  private val prepend = Module(new HeaderPrepend(lengths, new NoMeta))
  io.out <> prepend.io.out

  private val first = RegInit(true.B)
  when(io.in.fire)(first := io.in.bits.last)
  private val tags = io.in.bits.meta
  private val data = io.in.bits.data
  private val addressBits = 96
  private val rotated = VecInit(lengths.map(n => Cat(tags.bytes.take(8 * n), data(addressBits - 1, 8 * n))))(tags.count)

  ConnectStream(prepend.io.in, io.in) { (header, tags) =>
    header.bytes := data(8 * lengths.max - 1, 0)
    header.select := tags.count
    header.length := tags.count << log2Ceil(VlanTags.bytes)
    header.drop := false.B
    header.meta := 0.U.asTypeOf(new NoMeta)
  }
  when(first)(prepend.io.in.bits.data := Cat(data >> addressBits, rotated))
  assert(!io.in.valid || tags.count <= VlanTags.most.U, "a frame gets two VLAN tags at most")
}
