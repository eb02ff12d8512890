// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.control

import chisel3._
import chisel3.util._
import sallyport.boards.aurora.AuroraChannelStatus
import sallyport.common.link.LinkFrame

/** The control plane's side of one link, in the core clock. */
class ControlLink(channelsOfLink: Int) extends Bundle {

  /** The link's `up` as the core has it. */
  val up = Input(Bool())
  val channels = Input(Vec(channelsOfLink, new AuroraChannelStatus))

  /** A pulse: the link's Aurora cores are reset, for any cause. */
  val restarted = Input(Bool())

  /** A pulse: reset the link's Aurora cores. */
  val restart = Output(Bool())

  /** Messages to the far card, and from there: those of the core's link. */
  val send = Decoupled(UInt(LinkFrame.messageBits.W))
  val receive = Flipped(Valid(UInt(LinkFrame.messageBits.W)))
}

/**
 * What the shell tells of the MAC. The levels may be any clock's, from registers; `overflow` is a
 * pulse in the core clock.
 */
class ControlMac extends Bundle {
  val rxStatus = Bool()
  val txReset = Bool()
  val rxReset = Bool()

  /** A frame was lost since the crossing from the MAC into the core clock was full. */
  val overflow = Bool()
}

/** Low-speed pins of one QSFP cage (SFF-8679), levels. */
class CagePins extends Bundle {
  val modsell = Output(Bool())
  val resetl = Output(Bool())
  val lpmode = Output(Bool())
  val modprsl = Input(Bool())
  val intl = Input(Bool())
}

/** One I2C bus: open drain, so a line is let go (high impedance) or pulled low. */
class I2cBus extends Bundle {
  val sclPullsLow = Output(Bool())
  val sdaPullsLow = Output(Bool())
  val scl = Input(Bool())
  val sda = Input(Bool())
}

/** The card's I2C buses, and the reset of a multiplexer behind the first. */
class I2cPins(count: Int) extends Bundle {
  val buses = Vec(count, new I2cBus)
  val muxResetN = Output(Bool())
}
