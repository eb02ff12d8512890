// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.clear_prefix

import chisel3._
import chisel3.util._
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.common.stream.{ConnectStream, HeaderPrepend, PacketStream, RegisterSlice}
import sallyport.crypto.dispatch.{MergeEvent, PrefixRow}
import sallyport.crypto.lane.Verdict

/** A clear prefix as it is needed here. */
class JoinedPrefix extends Bundle {
  val stored = new StoredPrefix

  /** Its length, and which of [[ClearPrefix.lengths]] that is, from 1 on. */
  val length = UInt(6.W)
  val select = UInt(log2Ceil(ClearPrefix.lengths.length + 1).W)
}

/**
 * Puts the clear headers back in front of the packets of transport mode as they leave the lanes.
 * `length` and the fields of [[PrefixRow]] become those of a packet of the link. Others pass.
 *
 * `merged` is what [[Merge]] says of each packet with or before its first beat at `in`; `prefix` is
 * what the [[PrefixStore]] has for it, in the same cycle. A packet whose verdict is bad ends there;
 * `leaves` gives its row back. A beat a cycle; a prefix that pushes the packet's end into a further
 * beat costs one, and a packet of two beats with a prefix three. Latency 1 cycle, with a prefix 2.
 * Stalls with `out`.
 */
class PrefixJoin extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val merged = Flipped(Valid(new MergeEvent))
    val leaves = Valid(UInt(PrefixRow.bits.W))
    val prefix = Input(new StoredPrefix)
    val out = PacketStream(new LinkMeta)
  })

  private val event = io.merged.bits
  io.leaves.valid := io.merged.valid && event.meta.hasPrefix
  io.leaves.bits := PrefixRow(event.meta)

  // Two packets may have begun to leave the merge whose last beats have not been taken here.
  private val prefixes = Module(new RegisterSlice(new JoinedPrefix))
  prefixes.io.in.valid := io.leaves.valid && event.verdict === Verdict.ok
  prefixes.io.in.bits.stored := io.prefix
  prefixes.io.in.bits.length := ClearPrefix.bytes(io.prefix.tos)(5, 0)
  prefixes.io.in.bits.select := ClearPrefix.index(io.prefix.tos) +& 1.U
  assert(!prefixes.io.in.valid || prefixes.io.in.ready, "a third packet has begun to leave the merge")

  private val lengths = 0 +: ClearPrefix.lengths
  private val prepend = Module(new HeaderPrepend(lengths, new LinkMeta))
  private val meta = io.in.bits.meta
  private val prefix = prefixes.io.out.bits
  private val known = !meta.hasPrefix || prefixes.io.out.valid
  ConnectStream(prepend.io.in, io.in) { (to, from) =>
    to.bytes := prefix.stored.bytes
    to.select := 0.U
    to.length := 0.U
    to.drop := false.B
    to.meta := from
    when(from.hasPrefix) {
      to.select := prefix.select
      to.length := prefix.length
      to.meta.length := from.length + prefix.length
      PrefixRow.put(to.meta, prefix.stored.fields, from)
    }
  }
  // `in` is the merge's register slice: its bits may decide on its `ready`.
  prepend.io.in.valid := io.in.valid && known
  io.in.ready := prepend.io.in.ready && known
  prefixes.io.out.ready := io.in.fire && meta.hasPrefix && io.in.bits.last
  io.out <> prepend.io.out
}
