// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.mac

import chisel3._
import chisel3.util._
import sallyport.boards.clocks.BitSynchronizer
import sallyport.common.crossing.SlrStage
import sallyport.common.stream.MacBeat

/**
 * All between a core and its 100GbE MAC: [[MacIngress]], [[MacEgress]], their resets and the MAC's
 * state. Clock and reset of this module are the core's, 300 MHz.
 *
 * The resets of the wrapper (boards/ip/cmac_gty_wrapper.yaml) are in its clocks; each empties the
 * queue of its direction, the core's both. The core may be in another SLR: [[SlrStage]]s are on the
 * ways both ways.
 */
class MacCrossing extends Module {
  val io = IO(new Bundle {
    val port = new CmacPort
    val rx = Valid(new MacBeat)
    val tx = Flipped(Decoupled(new MacBeat))
    val status = Output(new MacStatus)
  })

  private val ingress = Module(new MacIngress)
  ingress.io.macClock := io.port.rxClock
  ingress.io.macReset := io.port.rxReset
  ingress.io.in := io.port.rx
  io.rx := SlrStage.way(ingress.io.out)

  private val egress = Module(new MacEgress)
  egress.io.in <> io.tx
  egress.io.macClock := io.port.txClock
  egress.io.macReset := io.port.txReset
  io.port.tx <> egress.io.out

  io.status.rxUp := BitSynchronizer(withClock(io.port.rxClock)(RegNext(io.port.rxStatus)))
  io.status.rxReset := ingress.io.inReset
  io.status.txReset := egress.io.inReset
  io.status.overflow := ingress.io.overflow
}

/** What a chip shows and counts of its MAC, in the core's clock. */
class MacStatus extends Bundle {

  /** The receiver has the far end's signal. */
  val rxUp = Bool()

  /** The MAC's receiver, or transmitter, is in reset, or was a few cycles ago. */
  val rxReset = Bool()
  val txReset = Bool()

  /** Pulse: a received frame was cut or left out since the queue to the core was full. */
  val overflow = Bool()
}
