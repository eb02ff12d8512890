// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.outer

import sallyport.common.registers.map.PuntGroup
import sallyport.iface.chip.InterfaceConfig

/**
 * Parameters of [[OuterCore]].
 *
 * @param saBits  log2 of the outbound SAs: rows of the tunnel table
 * @param sadBits log2 of the rows of the SAD, four ways together; twice the SAs, because hashing
 *                does not fill it
 * @param peerBits log2 of the rows of the table of peers, four ways together; hashing fills it to
 *                some 95 %
 * @param hostBits log2 of the rows of the table of hosts, as of the inner chip
 * @param prefixBits log2 of the rows of the last level of the trees of prefixes
 * @param chip    as of the inner chip
 */
case class OuterConfig(
    saBits: Int = 10,
    sadBits: Int = 11,
    peerBits: Int = 8,
    hostBits: Int = 8,
    prefixBits: Int = 8,
    chip: InterfaceConfig = InterfaceConfig()
) {
  require(saBits >= 1 && saBits <= 16, s"saBits is $saBits, but the link carries SA numbers of 1 to 16 bits")
  require(sadBits >= 3 && sadBits <= 18, s"sadBits is $sadBits, but a cuckoo table has 2^3 to 2^18 rows")
  require(peerBits >= 3 && peerBits <= 18, s"peerBits is $peerBits, but a cuckoo table has 2^3 to 2^18 rows")
  require(hostBits >= 3 && hostBits <= 18, s"hostBits is $hostBits, but a cuckoo table has 2^3 to 2^18 rows")
}

object OuterConfig {

  /** The smallest that is of use, for a quick synthesis. */
  val small: OuterConfig =
    OuterConfig(saBits = 6, sadBits = 6, peerBits = 6, hostBits = 6, prefixBits = 7, chip = InterfaceConfig.small)

  /** In the header of punted frames. */
  val puntPort: Int = 1

  /** Trap groups that there are on the black port, in the order of their policers. */
  val puntGroups: Seq[Int] =
    Seq(
      PuntGroup.other,
      PuntGroup.ike,
      PuntGroup.ikeCookie,
      PuntGroup.ikeInit,
      PuntGroup.arp,
      PuntGroup.nd,
      PuntGroup.resolution,
      PuntGroup.linkLocal,
      PuntGroup.icmp,
      PuntGroup.unknownSpi,
      PuntGroup.reasm
    )

  /** Those of the encrypt path: clear packets that find no station. */
  val encryptGroups: Seq[Int] = Seq(PuntGroup.clearHost, PuntGroup.clearRoute)

  /**
   * For a board: 64 Ki SAs a direction, in an SAD that is never more than half full, some 62,000
   * peers, and hosts and prefixes as of the inner chip.
   */
  val full: OuterConfig =
    OuterConfig(saBits = 16, sadBits = 17, peerBits = 16, hostBits = 14, prefixBits = 12, chip = InterfaceConfig.full)

  /** For the first light of a board: a quarter of the SAs. */
  val first: OuterConfig = full.copy(saBits = 14, sadBits = 15, peerBits = 14)
}
