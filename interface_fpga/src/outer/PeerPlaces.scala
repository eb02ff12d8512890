// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3._
import chisel3.util._
import sallyport.common.link.PeerTag

/** Where packets of ESP in UDP come from: IPv4 address and UDP port. */
class Peer extends Bundle {
  val address = UInt(32.W)
  val port = UInt(16.W)
}

/** Where an SA's peer may have moved to, if the packet is authentic. */
class PeerCandidate extends Bundle {
  val sa = UInt(16.W)
  val peer = new Peer
}

/**
 * Keeps the source addresses of packets that come from another address than their SA expects, until
 * software knows which packets were authentic. RFC 3948 and RFC 7296 2.23 trust the address of an
 * authenticated packet alone.
 *
 * A packet with `moved` takes the next place, if `takes`: then its `tag` names that place, and no
 * other packet's does. A place is kept until `clear`, which begins another round, so no later
 * packet can replace the address of an authentic one. A packet takes no place if all are taken, or
 * if it equals the last packet that took one. In flight and in its queue an event is at most a
 * round old, when software takes all events before it clears: `round` tells four apart.
 *
 * `moved` comes a cycle after the `candidate` of its packet. One a cycle, never stalls. `shown` is
 * the content of `place`, a cycle later.
 */
class PeerPlaces extends Module {
  import PeerTag.{places, roundBits}

  val io = IO(new Bundle {
    val candidate = Input(new PeerCandidate)
    val moved = Input(Bool())
    val takes = Output(Bool())
    val tag = Output(new PeerTag)
    val clear = Input(Bool())
    val place = Input(UInt(log2Ceil(places).W))
    val shown = Output(new PeerCandidate)
    val taken = Output(UInt(log2Ceil(places + 1).W))
    val round = Output(UInt(roundBits.W))
  })

  private val memory = SyncReadMem(places, new PeerCandidate)
  private val taken = RegInit(0.U(log2Ceil(places + 1).W))
  private val some = RegInit(false.B)
  private val round = RegInit(0.U(roundBits.W))
  private val candidate = RegNext(io.candidate)
  private val last = Reg(new PeerCandidate)
  // Compared with the last but one where packets follow each other at once: that one has its place
  // as well.
  private val asLast = RegNext(io.candidate.asUInt === last.asUInt)

  private val full = taken(log2Ceil(places))
  private val takes = io.moved && !full && !(some && asLast)
  when(takes) {
    memory.write(taken(log2Ceil(places) - 1, 0), candidate)
    last := candidate
    taken := taken + 1.U
    some := true.B
  }
  when(io.clear) {
    taken := 0.U
    some := false.B
    round := round + 1.U
  }

  io.takes := takes
  io.tag.round := round
  io.tag.place := taken(log2Ceil(places) - 1, 0)
  io.shown := memory.read(io.place)
  io.taken := taken
  io.round := round
}
