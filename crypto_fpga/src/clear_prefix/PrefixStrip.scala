// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.clear_prefix

import chisel3._
import chisel3.util._
import sallyport.common.link.{ClearPrefix, LinkMeta}
import sallyport.common.stream.{ConnectStream, PacketStream, PacketStripper}
import sallyport.crypto.dispatch.PrefixRow

/** A packet's metadata, the bytes at its start that do not go to a lane, and how many do. */
class PrefixedMeta extends Bundle {
  val link = new LinkMeta
  val prefixBytes = UInt(7.W)
  val rest = UInt(PacketStream.lengthBits.W)
}

/**
 * Takes the clear headers off the packets of transport mode and stores them, so that key fetch and
 * lanes meet only ESP packets, or payloads that become one.
 *
 * Such a packet goes on with `length` less its prefix, and in the place of [[PrefixRow]] the row of
 * the [[PrefixStore]] that has it. Others pass as they are, without a cycle of latency while no
 * packet with a prefix is under way here, and behind it else. A packet whose prefix cannot be one
 * ([[ClearPrefix]]), or that has nothing behind it, goes on as one byte with a `length` of 0, by
 * which [[KeyDecision]] knows it.
 *
 * A beat a cycle. Stalls with `out`, and between packets while the store is full.
 */
class PrefixStrip extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val out = PacketStream(new LinkMeta)
    val free = Flipped(Valid(UInt(PrefixRow.bits.W)))
    val write = Valid(new StoredPrefix)
  })

  private val meta = io.in.bits.meta
  private val prefixBytes = ClearPrefix.bytes(meta.tos)
  private val wellFormed = ClearPrefix.possible(meta.tos) && meta.length > prefixBytes

  private val pipe = Module(new PacketStripper(new PrefixedMeta, 0 +: ClearPrefix.lengths)(_.prefixBytes, _.rest))

  // Packets in the pipe: while there is one, all others go through it too.
  private val packets = RegInit(0.U(PrefixStrip.countBits.W))
  private val busy = RegInit(false.B)
  private val first = RegInit(true.B)
  private val through = RegInit(false.B)
  private val throughNow = Mux(first, busy || meta.hasPrefix, through)

  // A first beat does not show its packet's way before it is taken: it needs both ways and a row.
  private val mayStart = io.free.valid && pipe.io.in.ready
  io.in.ready := Mux(first, mayStart && (busy || io.out.ready), Mux(through, pipe.io.in.ready, io.out.ready))
  private val starts = io.in.fire && first
  when(io.in.fire) {
    first := io.in.bits.last
    through := throughNow
  }

  pipe.io.in.valid := io.in.fire && throughNow
  pipe.io.in.bits.data := io.in.bits.data
  pipe.io.in.bits.last := io.in.bits.last
  pipe.io.in.bits.bytes := io.in.bits.bytes
  pipe.io.in.bits.error := io.in.bits.error
  pipe.io.in.bits.meta.link := meta
  pipe.io.in.bits.meta.prefixBytes := 0.U
  pipe.io.in.bits.meta.rest := meta.length
  // The same for all beats of a packet, though the row is no longer free behind the first.
  private val row = RegEnable(io.free.bits, starts)
  private val rowNow = Mux(first, io.free.bits, row)
  when(meta.hasPrefix) {
    pipe.io.in.bits.meta.link.length := Mux(wellFormed, meta.length - prefixBytes, 0.U)
    PrefixRow.put(pipe.io.in.bits.meta.link, rowNow, meta)
    pipe.io.in.bits.meta.prefixBytes := Mux(wellFormed, prefixBytes, 0.U)
    pipe.io.in.bits.meta.rest := Mux(wellFormed, meta.length - prefixBytes, 1.U)
  }

  private val direct = io.in.valid && !meta.hasPrefix && (!first || mayStart)
  private val passed = Wire(PacketStream(new LinkMeta))
  ConnectStream(passed, pipe.io.out)(_ := _.link)
  passed.ready := busy && io.out.ready
  io.out.valid := Mux(busy, passed.valid, direct)
  io.out.bits := Mux(busy, passed.bits, io.in.bits)

  private val enters = starts && throughNow
  private val leaves = passed.fire && passed.bits.last
  private val next = packets + enters - leaves
  packets := next
  busy := next =/= 0.U
  assert(packets =/= 0.U || !leaves, "a packet leaves that never came")
  assert(!enters || next =/= 0.U, "more packets in the pipe than are counted")

  io.write.valid := enters && meta.hasPrefix
  io.write.bits.bytes := io.in.bits.data(io.write.bits.bytes.getWidth - 1, 0)
  io.write.bits.fields := PrefixRow(meta)
}

object PrefixStrip {

  /** Counts more packets than the pipe holds beats. */
  private val countBits = 5
}
