// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.receive

import chisel3._
import sallyport.iface.cpu.TokenLimit
import sallyport.iface.dispatch.DispatchControl
import sallyport.iface.parse.{ExtensionSkip, PriorityClass}

/**
 * What software sets of a [[ReceivePath]].
 *
 * @param puntGroups number of trap groups of the port, each with a token bucket
 */
class ReceiveControl(puntGroups: Int) extends Bundle {

  /** Frames are taken; without it they are dropped as not ready. */
  val enable = Bool()

  /** The box is a bump in the wire. */
  val bump = Bool()

  /** Frames to unicast addresses other than `portMac` are dropped. */
  val macFilter = Bool()

  /** The port's own address, its first wire byte in bits 7:0. */
  val portMac = UInt(48.W)

  /** The box's own addresses at the port: no frame comes from them. */
  val own = new LocalAddresses

  /** Bit n: packets of DSCP n are high. */
  val priorityDscps = UInt(PriorityClass.dscps.W)
  val fragmentLimits = new FragmentLimits

  /** IPv6 extension headers that may stand in front of what selectors name. */
  val skip = new ExtensionSkip

  /** Which frames of those that each node of a cluster receives are this node's. */
  val dispatch = new DispatchControl
  val puntLimits = Vec(puntGroups, new TokenLimit)
}
