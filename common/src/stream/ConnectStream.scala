// SPDX-License-Identifier: Apache-2.0
package sallyport.common.stream

import chisel3._
import chisel3.util._

/** Connects two packet streams whose metadata differ. */
object ConnectStream {

  /** @param meta connects the metadata of `to` from the metadata of `from` */
  def apply[A <: Data, B <: Data](to: DecoupledIO[PacketBeat[A]], from: DecoupledIO[PacketBeat[B]])(
      meta: (A, B) => Unit
  ): Unit = {
    to.valid := from.valid
    to.bits.data := from.bits.data
    to.bits.last := from.bits.last
    to.bits.bytes := from.bits.bytes
    to.bits.error := from.bits.error
    meta(to.bits.meta, from.bits.meta)
    from.ready := to.ready
  }
}
