// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3._
import chisel3.util._
import sallyport.common.link.{LinkMeta, PeerTag}
import sallyport.common.registers.EventQueue
import sallyport.common.registers.map.InnerRegs

/** An authentic packet of an SA has come from elsewhere; the outer chip keeps from where. */
class PeerEvent extends Bundle {
  val sa = UInt(16.W)
  val tag = new PeerTag
}

object PeerEvent {
  def of(meta: LinkMeta): PeerEvent = {
    val event = Wire(new PeerEvent)
    event.sa := meta.sa
    event.tag := meta.peerTag.asTypeOf(event.tag)
    event
  }
}

/**
 * The events of peers that have moved, for software: PEER_EVENT and PEER_CONTROL of regs/inner.rdl.
 *
 * An event a cycle. One that finds 16 others waiting is lost, which `value` says until `clearLost`:
 * the peer's next packets bring it again when software has cleared the places of the outer chip
 * ([[PeerPlaces]]).
 */
class PeerEvents extends Module {
  val io = IO(new Bundle {
    val event = Flipped(Valid(new PeerEvent))
    val pop = Input(Bool())
    val clearLost = Input(Bool())
    val value = Output(UInt(32.W))
  })

  private val queue = Module(new EventQueue(new PeerEvent))
  queue.io.in := io.event
  queue.io.pop := io.pop
  queue.io.clearLost := io.clearLost

  private val oldest = queue.io.oldest
  private val fields = InnerRegs.PeerEvent
  io.value := EventQueue.show(
    fields.sa -> oldest.bits.sa,
    fields.place -> oldest.bits.tag.place,
    fields.round -> oldest.bits.tag.round,
    fields.lost -> queue.io.lost,
    fields.valid -> oldest.valid
  )
}
