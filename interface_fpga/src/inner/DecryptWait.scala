// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.link.LinkMeta
import sallyport.common.queue.{FrameFifoParams, WhenFull}
import sallyport.common.stream.{ConnectStream, PacketPriority, PacketStream, RegisterSlice}
import sallyport.iface.tracking.{FragmentRing, TrackerConfig, WaitingMeta}

/** A packet from the link that has to wait, and comes back as it came. */
class HeldPacket extends Bundle {
  val link = new LinkMeta

  /** How often software had written selectors and inbound rules when it was looked up. */
  val writes = UInt(DecryptWait.writesBits.W)
}

/** A packet on its way to its look-ups. */
class InboundMeta extends Bundle {
  val link = new LinkMeta

  /** It has waited for its datagram's first fragment, since the tick `born`. */
  val waited = Bool()
  val born = UInt(TrackerConfig.tickBits.W)

  /** With `waited`, as of [[HeldPacket]]. */
  val writes = UInt(DecryptWait.writesBits.W)
}

/**
 * Where fragments out of tunnels wait for the first one of their datagram on the same SA
 * ([[FragmentRing]]), beside the way from the link to the look-ups.
 *
 * Packets from the link keep their order and go first: one waits at most for one that has waited,
 * and those that have waited go where the link leaves a gap. They stay as they came, ESP's headers
 * off. One that has waited is looked up anew, with the rows as they are then. Its SA may be another
 * one by now, so it names how many rows had been written; [[InnerDecrypt]] lets none in that has
 * seen a write.
 *
 * A beat a cycle; `back` is always ready.
 */
class DecryptWait(p: TrackerConfig) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(PacketStream(new LinkMeta))
    val back = Flipped(PacketStream(new WaitingMeta(new HeldPacket)))
    val out = PacketStream(new InboundMeta)

    /** As of [[FragmentRing]]. */
    val tick = Input(Bool())
    val came = Flipped(Valid(UInt(TrackerConfig.markBits.W)))
    val dropFull = Output(UInt(2.W))
  })

  private val ring = Module(
    new FragmentRing(new HeldPacket, FrameFifoParams(p.ringBeats, DecryptWait.frames, WhenFull.Drop))
  )
  ring.io.in <> io.back
  ring.io.tick := io.tick
  ring.io.came := io.came
  io.dropFull := ring.io.dropFull

  private val join = Module(new PacketPriority(new InboundMeta, 2, registered = false))
  ConnectStream(join.io.in(0), io.in) { (to, from) =>
    to := 0.U.asTypeOf(to)
    to.link := from
  }
  ConnectStream(join.io.in(1), RegisterSlice(ring.io.out)) { (to, from) =>
    to.link := from.rest.link
    // The source in its place has been told of.
    to.link.moved := false.B
    to.waited := true.B
    to.born := from.born
    to.writes := from.rest.writes
  }
  io.out <> join.io.out
}

object DecryptWait {

  /** No fragment waits for as many writes. */
  val writesBits: Int = 32

  /** Fragments that wait at most. */
  val frames: Int = 128
}
