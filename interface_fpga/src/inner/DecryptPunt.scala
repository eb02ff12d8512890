// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import sallyport.common.stream.{ConnectStream, NoMeta, PacketStream}
import sallyport.iface.cpu.{PuntBranch, PuntEvents, PuntMeta, TokenLimit}
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
 * [[PuntBranch]] takes a frame with `toPunt` to `punt`. One with `hairpin` leaves at `hairpin`,
 * which is always ready, another one at `out`, both in the same cycle. `in.ready` is that of `out`,
 * or high.
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

  private val branch =
    Module(new PuntBranch(new DecryptedMeta, InnerConfig.puntPort, groups, beats)(_.toPunt, _.punt))
  branch.io.limits := io.limits
  branch.io.in <> io.in
  io.punt <> branch.io.punt
  io.events := branch.io.events

  private val rest = branch.io.out
  private val toHairpin = rest.bits.meta.hairpin
  ConnectStream(io.out, rest)(_ := _.wire)
  io.out.valid := rest.valid && !toHairpin
  ConnectStream(io.hairpin, rest)(_ := _.tunnel)
  io.hairpin.valid := rest.valid && toHairpin
  assert(io.hairpin.ready, "other tunnels do not hold up the port")
  rest.ready := toHairpin || io.out.ready
}
