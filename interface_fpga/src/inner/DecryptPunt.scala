// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import sallyport.common.stream.{ConnectStream, NoMeta, PacketStream}
import sallyport.iface.cpu.{PuntEvents, PuntMeta, PuntQueue, TokenLimit}
import sallyport.iface.fragmentation.FragmentCut
import sallyport.iface.headers.VlanTags

/** How a frame goes to the port. */
class WireMeta extends Bundle {

  /** Behind its Ethernet header. */
  val tags = new VlanTags

  /** Payload units of its fragments; 0: it goes whole ([[FragmentCut]]). */
  val units = UInt(FragmentCut.unitsBits.W)
}

/** Where a frame behind decryption goes. */
class DecryptedMeta extends Bundle {

  /** For the port, and how it is cut there. */
  val wire = new WireMeta

  /** To the management CPU instead; `punt` says why. */
  val toPunt = Bool()
  val punt = new PuntMeta

  /** To the encrypt path instead, with `tunnel`. */
  val hairpin = Bool()
  val tunnel = new HairpinMeta
}

/**
 * Parts the frames of the decrypt path that are for the management CPU or for another tunnel from
 * those for the port.
 *
 * A frame with `toPunt` goes to a [[PuntQueue]] and leaves at `punt` behind its header. One with
 * `hairpin` leaves at `hairpin`, which is always ready, another one at `out`, both in the same
 * cycle. The queue takes a beat in each cycle and drops what it has no room or no token for, so a
 * dead CPU never holds up traffic. `in.ready` is that of `out`, or high.
 *
 * @param groups trap groups of these frames, values of PuntGroup
 * @param beats  the queue in 64-byte beats
 */
class DecryptPunt(groups: Seq[Int], beats: Int) extends Module {
  val io = IO(new Bundle {
    val limits = Input(Vec(groups.length, new TokenLimit))
    val in = Flipped(PacketStream(new DecryptedMeta))
    val out = PacketStream(new WireMeta)
    val hairpin = PacketStream(new HairpinMeta)
    val punt = PacketStream(new NoMeta)
    val events = Output(new PuntEvents)
  })

  private val toPunt = io.in.bits.meta.toPunt
  ConnectStream(io.out, io.in)(_ := _.wire)
  private val toHairpin = !toPunt && io.in.bits.meta.hairpin
  io.out.valid := io.in.valid && !toPunt && !toHairpin
  ConnectStream(io.hairpin, io.in)(_ := _.tunnel)
  io.hairpin.valid := io.in.valid && toHairpin
  assert(io.hairpin.ready, "other tunnels do not hold up the port")
  io.in.ready := toPunt || toHairpin || io.out.ready

  private val queue = Module(new PuntQueue(InnerConfig.puntPort, groups, beats))
  queue.io.limits := io.limits
  queue.io.in.valid := io.in.valid && toPunt
  queue.io.in.bits.data := io.in.bits.data
  queue.io.in.bits.last := io.in.bits.last
  queue.io.in.bits.bytes := io.in.bits.bytes
  queue.io.in.bits.error := io.in.bits.error
  queue.io.in.bits.meta := io.in.bits.meta.punt
  io.punt <> queue.io.out
  io.events := queue.io.events
}
