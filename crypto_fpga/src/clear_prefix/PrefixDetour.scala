// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.clear_prefix

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.stream.PacketStream
import sallyport.crypto.dispatch.{DropEvent, MergeEvent, PrefixRow}

/**
 * The way of the clear headers of transport mode past key fetch and lanes: off between `in` and
 * `bare`, and on again between `lanes` and `out`. What happens to a packet between the two is told
 * by `dropped` and `merged`, one event a packet; `row` is that of the packet of the next `merged`.
 *
 * Contracts: [[PrefixStrip]], [[PrefixStore]], [[PrefixJoin]]. A full store holds up `in` until a
 * packet leaves, for which it needs nothing of `in`.
 */
class PrefixDetour extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val bare = PacketStream(new LinkMeta)
    val dropped = Flipped(Valid(new DropEvent))
    val merged = Flipped(Valid(new MergeEvent))
    val row = Input(UInt(PrefixRow.bits.W))
    val lanes = Flipped(PacketStream(new LinkMeta))
    val out = PacketStream(new LinkMeta)
  })

  private val store = Module(new PrefixStore)
  private val strip = Module(new PrefixStrip)
  private val join = Module(new PrefixJoin)

  strip.io.in <> io.in
  io.bare <> strip.io.out
  strip.io.free := store.io.free
  store.io.write := strip.io.write

  store.io.dropped.valid := io.dropped.valid && io.dropped.bits.prefix.valid
  store.io.dropped.bits := io.dropped.bits.prefix.bits
  store.io.leaves := join.io.leaves
  store.io.next := io.row

  join.io.in <> io.lanes
  join.io.merged := io.merged
  join.io.prefix := store.io.prefix
  io.out <> join.io.out
}
