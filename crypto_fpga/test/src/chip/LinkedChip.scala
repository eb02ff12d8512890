// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.chip

import chisel3._
import chisel3.util._
import sallyport.common.link.{ChannelControl, Link, LinkChannel, LinkParams}
import sallyport.crypto.config.CryptoConfig

/** The chip between two ends of links as its neighbours have them. */
object LinkedChip {

  /** What carries words from one end of a link to the other. */
  type Channel = DecoupledIO[UInt] => Valid[UInt]

  /**
   * Words a 256 cycles of four lanes at 25.78125 Gb/s: 99.84 Gb/s at 300 MHz and 512 bits
   * a word.
   */
  val rate: Int = 166

  /** Four lanes and 41 cycles, without a fault. */
  def clean: Channel = from => {
    val control = WireDefault(0.U.asTypeOf(new ChannelControl))
    control.rate := rate.U
    control.up := true.B
    channel(control, 0)(from)
  }

  def channel(control: ChannelControl, salt: Long): Channel = from => {
    val channel = Module(new LinkChannel(41, salt))
    channel.io.control := control
    channel.io.in <> from
    channel.io.out
  }

  /**
   * Makes the chip and connects it to the streams of a harness.
   *
   * @param fromInner
   *   from the inner chip to this one; `fromOuter` from the outer chip. The ways out are [[clean]]
   */
  def apply(config: CryptoConfig, fromInner: Channel = clean, fromOuter: Channel = clean)(
      streams: CryptoStreams
  ): Unit = {
    val core = Module(new CryptoCore(config))
    val inner = Module(new Link(LinkParams(withSequenceRx = true, bufferBeats = config.linkBeats)))
    val outer = Module(new Link(LinkParams(bufferBeats = config.linkBeats)))
    for ((near, far, in) <- Seq((core.io.linkRed, inner, fromInner), (core.io.linkBlack, outer, fromOuter))) {
      near.rx := in(far.io.port.tx)
      far.io.port.rx := clean(near.tx)
      near.up := true.B
      far.io.port.up := true.B
    }
    inner.io.in <> streams.redRx
    outer.io.in <> streams.blackRx
    streams.redTx <> inner.io.out
    streams.blackTx <> outer.io.out
    core.io.axil <> streams.axil
    core.io.tamper := streams.tamper
    core.io.noise := false.B
    core.io.coreKhz := 300000.U
    streams.ready := core.io.ready
  }
}
