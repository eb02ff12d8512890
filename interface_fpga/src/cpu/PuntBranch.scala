// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.cpu

import chisel3._
import sallyport.common.stream.{ConnectStream, NoMeta, PacketStream}

/**
 * Parts the frames of a path that are for the management CPU from the others.
 *
 * A frame with `toPunt` goes to a [[PuntQueue]] and leaves at `punt` behind its header; others
 * leave at `out` in the same cycle. The queue takes a beat in each cycle and drops what it has no
 * room or no token for, so a dead CPU never holds up traffic. `in.ready` is that of `out`, or high.
 *
 * @param meta   metadata of the frames
 * @param port   of the header: where the frames come in
 * @param groups trap groups of these frames, values of PuntGroup
 * @param beats  the queue in 64-byte beats
 * @param toPunt of a frame's metadata: it is for the management CPU
 * @param why    of a frame's metadata: what its header says
 */
class PuntBranch[T <: Data](meta: T, port: Int, groups: Seq[Int], beats: Int)(toPunt: T => Bool, why: T => PuntMeta)
    extends Module {
  val io = IO(new Bundle {
    val limits = Input(Vec(groups.length, new TokenLimit))
    val in = Flipped(PacketStream(meta))
    val out = PacketStream(meta)
    val punt = PacketStream(new NoMeta)
    val events = Output(new PuntEvents)
  })

  private val punts = toPunt(io.in.bits.meta)
  io.out.bits := io.in.bits
  io.out.valid := io.in.valid && !punts

  private val queue = Module(new PuntQueue(port, groups, beats))
  queue.io.limits := io.limits
  ConnectStream(queue.io.in, io.in)((to, from) => to := why(from))
  queue.io.in.valid := io.in.valid && punts
  io.in.ready := punts || io.out.ready
  io.punt <> queue.io.out
  io.events := queue.io.events
}
