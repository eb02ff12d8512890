// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import chisel3.util._
import sallyport.common.registers.map.PuntGroup
import sallyport.iface.reassembly.ReassemblyConfig

/**
 * Parameters of [[InnerCore]].
 *
 * @param saBits        log2 of the inbound SAs: rows of the selector table, and window rows of 1024
 *                      packets each
 * @param flowBits      log2 of the rows of the flow table, four ways together; twice the SAs,
 *                      because hashing does not fill it. Also of the rows that count the packets
 *                      of policies
 * @param rules         rows of each rule table, of the SPD outbound and of inbound SAs, a power of
 *                      two, 8 to 1024
 * @param nextHops      rows of the next-hop table
 * @param receiveBeats  receive queue of the port in 64-byte beats; holds what arrives while the
 *                      link is short of credits
 * @param priorityBeats the same of frames that pass the others ([[PriorityClass]])
 * @param transmitBeats transmit buffer of the port in 64-byte beats
 * @param puntBeats     queue to the management CPU in 64-byte beats
 * @param injectBeats   buffer of the management CPU's own frames in 64-byte beats
 * @param linkBeats     receive buffer of the link in 64-byte beats: the far sender's credits
 * @param linkMessages  the link carries messages ([[LinkMessages]]): a card's register tunnel
 * @param reassembly    room for fragments from the port
 * @param version       text of the VERSION file, for the identity block
 * @param simulation    built for simulation; software can read it
 */
case class InnerConfig(
    saBits: Int = 10,
    flowBits: Int = 11,
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
  require(flowBits >= 3 && flowBits <= 18, s"flowBits is $flowBits, but a cuckoo table has 2^3 to 2^18 rows")
  require(
    isPow2(nextHops) && nextHops >= 2 && nextHops <= 256,
    s"nextHops is $nextHops, but a row names one of 2 to 256, a power of two"
  )
}

object InnerConfig {

  /** The smallest useful configuration, for a quick synthesis. */
  val small: InnerConfig = InnerConfig(saBits = 6, flowBits = 6, rules = 8)

  /** In the header of punted frames. */
  val puntPort: Int = 0

  /** Trap groups of the red port, in the order of their policers. */
  val puntGroups: Seq[Int] = Seq(PuntGroup.other, PuntGroup.arp, PuntGroup.nd, PuntGroup.mtu)

  /**
   * For a board: 64 Ki SAs, flow rows and policies. The cuckoo table of flows fills to some 95 %;
   * twice the rows would be beyond 60 % of an XCVU9P's URAM, and so would more than 2 MiB for
   * fragments, which the red side sees few of.
   */
  val full: InnerConfig =
    InnerConfig(saBits = 16, flowBits = 16, rules = 1024, reassembly = ReassemblyConfig.full.copy(cells = 2048))

  /** For the first light of a board: a quarter of the SAs. */
  val first: InnerConfig = full.copy(saBits = 14, flowBits = 14)
}
