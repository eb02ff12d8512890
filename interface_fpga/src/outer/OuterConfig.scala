// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import chisel3.util._
import sallyport.common.registers.map.PuntGroup
import sallyport.iface.reassembly.ReassemblyConfig

/**
 * Parameters of [[OuterCore]].
 *
 * @param saBits       log2 of the outbound SAs: rows of the tunnel table
 * @param sadBits      log2 of the rows of the SAD, four ways together; twice the SAs, because
 *                     hashing does not fill it
 * @param rules        rows of the rule table, a power of two, 8 to 1024
 * @param nextHops     rows of the next-hop table
 * @param receiveBeats receive queue of the port in 64-byte beats; holds what arrives while the link
 *   is short of credits
 * @param priorityBeats the same of frames that pass the others ([[PriorityClass]])
 * @param transmitBeats transmit buffer of the port in 64-byte beats
 * @param puntBeats    queue to the management CPU in 64-byte beats
 * @param injectBeats  buffer of the management CPU's own frames in 64-byte beats
 * @param linkBeats    receive buffer of the link in 64-byte beats: the far sender's credits
 * @param linkMessages the link carries messages ([[LinkMessages]]): a card's register tunnel
 * @param reassembly   room for fragments from the port
 * @param version      text of the VERSION file, for the identity block
 * @param simulation   built for simulation; software can read it
 */
case class OuterConfig(
    saBits: Int = 10,
    sadBits: Int = 11,
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
    version: String = "0.1.0",
    simulation: Boolean = true
) {
  require(saBits >= 1 && saBits <= 16, s"saBits is $saBits, but the link carries SA numbers of 1 to 16 bits")
  require(sadBits >= 3 && sadBits <= 18, s"sadBits is $sadBits, but a cuckoo table has 2^3 to 2^18 rows")
  require(
    isPow2(nextHops) && nextHops >= 2 && nextHops <= 256,
    s"nextHops is $nextHops, but a row names one of 2 to 256, a power of two"
  )
}

object OuterConfig {

  /** The smallest that is of use, for a quick synthesis. */
  val small: OuterConfig = OuterConfig(saBits = 6, sadBits = 6, rules = 8)

  /** In the header of punted frames. */
  val puntPort: Int = 1

  /** Trap groups that there are on the black port, in the order of their policers. */
  val puntGroups: Seq[Int] =
    Seq(
      PuntGroup.other,
      PuntGroup.ike,
      PuntGroup.arp,
      PuntGroup.nd,
      PuntGroup.icmp,
      PuntGroup.unknownSpi,
      PuntGroup.reasm
    )

  /** For a board: 64 Ki SAs a direction, in an SAD that is never more than half full. */
  val full: OuterConfig = OuterConfig(saBits = 16, sadBits = 17, rules = 1024, reassembly = ReassemblyConfig.full)

  /** For the first light of a board: a quarter of the SAs. */
  val first: OuterConfig = full.copy(saBits = 14, sadBits = 15)
}
