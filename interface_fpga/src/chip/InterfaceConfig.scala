// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.chip

import chisel3.util._
import sallyport.common.link.LinkParams
import sallyport.common.registers.map.{CommonRegs, RegisterDesc}
import sallyport.common.table.CuckooHash
import sallyport.iface.reassembly.ReassemblyConfig
import sallyport.iface.tracking.TrackerConfig

/**
 * Parameters that both interface chips have.
 *
 * @param rules         rows of each rule table, a power of two, 8 to 1024
 * @param nextHops      rows of the next-hop table
 * @param receiveBeats  receive queue of the port in 64-byte beats; holds what arrives while the
 *                      link is short of credits
 * @param priorityBeats the same of frames that pass the others
 *                      ([[sallyport.iface.parse.PriorityClass]])
 * @param transmitBeats transmit buffer of the port in 64-byte beats
 * @param puntBeats     queue to the management CPU in 64-byte beats
 * @param injectBeats   buffer of the management CPU's own frames in 64-byte beats
 * @param linkBeats     receive buffer of the link in 64-byte beats: the far sender's credits
 * @param linkMessages  the link carries messages ([[sallyport.common.link.LinkMessages]]): a card's
 *                      register tunnel
 * @param reassembly    room for fragments from the port that are put together
 * @param tracking      room for the fields of first fragments, and for later ones that wait
 * @param version       text of the VERSION file, for the identity block
 * @param simulation    built for simulation; software can read it
 */
case class InterfaceConfig(
    rules: Int = 64,
    nextHops: Int = 256,
    receiveBeats: Int = 512,
    priorityBeats: Int = 256,
    transmitBeats: Int = 256,
    puntBeats: Int = 256,
    injectBeats: Int = 256,
    linkBeats: Int = 512,
    linkMessages: Boolean = false,
    reassembly: ReassemblyConfig = ReassemblyConfig.small,
    tracking: TrackerConfig = TrackerConfig.small,
    version: String = "0.1.0",
    simulation: Boolean = true
) {
  require(
    isPow2(nextHops) && nextHops >= 2 && nextHops <= 256,
    s"nextHops is $nextHops, but a row names one of 2 to 256, a power of two"
  )

  /** Values of the read-only registers that tell software of these parameters. */
  def registers: Map[RegisterDesc, BigInt] = Map(
    CommonRegs.build -> CommonRegs.Build.simulation.put(if (simulation) 1 else 0),
    CommonRegs.capabilityWays -> BigInt(CuckooHash.ways),
    CommonRegs.capabilityRules -> BigInt(rules),
    CommonRegs.capabilityNextHops -> BigInt(nextHops),
    CommonRegs.capabilityLinkBufferBeats -> BigInt(linkBeats)
  )

  /** What every chip's end of the link has; the checks of what it receives come besides. */
  def link: LinkParams = LinkParams(bufferBeats = linkBeats, messages = linkMessages)
}

object InterfaceConfig {

  /** The fewest rules that a table of them can have, for a quick synthesis. */
  val small: InterfaceConfig = InterfaceConfig(rules = 8)

  /** For a board. */
  val full: InterfaceConfig =
    InterfaceConfig(rules = 1024, reassembly = ReassemblyConfig.full, tracking = TrackerConfig.full)
}
