package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common._

/**
 * Puts the clear headers back in front of the packets of transport mode as they leave the lanes, with `length` and `tos` as a
 * packet of the link has them; others pass.
 *
 * `merged` is what [[Merge]] says of each packet with or before its first beat at `in`; `leaves` and `prefix` are the
 * [[PrefixStore]]'s. A packet whose verdict is bad ends there, and gives its row back. A beat a cycle; a prefix that pushes the packet's
 * end into a further beat costs one. Latency 1 cycle, with a prefix 2. Stalls with `out`.
 */
class PrefixJoin extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val merged = Flipped(Valid(new MergeEvent))
    val leaves = Valid(UInt(PrefixStore.rowBits.W))
    val prefix = Input(new StoredPrefix)
    val out = PacketStream(new LinkMeta)
  })

  private val event = io.merged.bits
  io.leaves.valid := io.merged.valid && event.meta.hasPrefix
  io.leaves.bits := event.meta.tos

  // Two packets may have begun to leave the merge whose last beats have not been taken here.
  private val prefixes = Module(new Queue(new StoredPrefix, 2))
  prefixes.io.enq.valid := RegNext(io.leaves.valid && event.verdict === Verdict.ok, false.B)
  prefixes.io.enq.bits := io.prefix
  assert(!prefixes.io.enq.valid || prefixes.io.enq.ready, "a third packet has begun to leave the merge")

  private val lengths = 0 +: ClearPrefix.lengths
  private val prepend = Module(new HeaderPrepend(lengths, new LinkMeta))
  private val meta = io.in.bits.meta
  private val prefix = prefixes.io.deq.bits
  private val known = !meta.hasPrefix || prefixes.io.deq.valid
  ConnectStream(prepend.io.in, io.in) { (to, from) =>
    to.bytes := prefix.bytes
    to.select := 0.U
    to.drop := false.B
    to.meta := from
    when(from.hasPrefix) {
      to.select := ClearPrefix.index(prefix.tos) +& 1.U
      to.meta.length := from.length + ClearPrefix.bytes(prefix.tos)
      to.meta.tos := prefix.tos
    }
  }
  // `in` is the merge's register slice: its bits may decide on its `ready`.
  prepend.io.in.valid := io.in.valid && known
  io.in.ready := prepend.io.in.ready && known
  prefixes.io.deq.ready := io.in.fire && meta.hasPrefix && io.in.bits.last
  io.out <> prepend.io.out
}
