// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

import sallyport.common.registers.map.{PrefixChildRow, PuntGroup}
import sallyport.iface.chip.InterfaceConfig

/**
 * Parameters of [[InnerCore]].
 *
 * @param saBits   log2 of the inbound SAs: rows of the selector table, and window rows of 1024
 *                 packets each
 * @param flowBits log2 of the rows of the flow table, four ways together; twice the SAs, because
 *                 hashing does not fill it. Also of the rows that count the packets of policies
 * @param hostBits log2 of the rows of the table of hosts, four ways together; hashing fills it to
 *                 some 95 %
 * @param prefixBits log2 of the rows of the last level of the trees of prefixes
 * @param policyBits log2 of the rows of policies by prefix
 * @param chip     as of the outer chip; the rules are those of the SPD outbound and, as many again,
 *                 inbound, of SAs and of clear packets
 */
case class InnerConfig(
    saBits: Int = 10,
    flowBits: Int = 11,
    hostBits: Int = 8,
    prefixBits: Int = 8,
    policyBits: Int = 9,
    chip: InterfaceConfig = InterfaceConfig()
) {
  require(saBits >= 1 && saBits <= 16, s"saBits is $saBits, but the link carries SA numbers of 1 to 16 bits")
  require(flowBits >= 3 && flowBits <= 18, s"flowBits is $flowBits, but a cuckoo table has 2^3 to 2^18 rows")
  require(
    policyBits >= 1 && policyBits <= PrefixChildRow.child0.width,
    s"policyBits is $policyBits, but the trees name 2 to 2^${PrefixChildRow.child0.width} policies"
  )
  require(hostBits >= 3 && hostBits <= 18, s"hostBits is $hostBits, but a cuckoo table has 2^3 to 2^18 rows")
}

object InnerConfig {

  /** The smallest useful configuration, for a quick synthesis. */
  val small: InnerConfig =
    InnerConfig(saBits = 6, flowBits = 6, hostBits = 6, prefixBits = 7, policyBits = 6, chip = InterfaceConfig.small)

  /** In the header of punted frames. */
  val puntPort: Int = 0

  /** Trap groups of the red port, in the order of their policers. */
  val puntGroups: Seq[Int] = Seq(
    PuntGroup.other,
    PuntGroup.arp,
    PuntGroup.nd,
    PuntGroup.resolution,
    PuntGroup.linkLocal,
    PuntGroup.mtu,
    PuntGroup.ttl,
    PuntGroup.local,
    PuntGroup.hairpin
  )

  /** Those of decrypted packets and of clear ones from black, in the same order. */
  val decryptGroups: Seq[Int] = Seq(
    PuntGroup.tunnel,
    PuntGroup.clear,
    PuntGroup.tunnelMtu,
    PuntGroup.clearMtu,
    PuntGroup.tunnelTtl,
    PuntGroup.clearTtl,
    PuntGroup.tunnelHost,
    PuntGroup.clearHost,
    PuntGroup.tunnelRoute,
    PuntGroup.clearRoute
  )

  /**
   * For a board: 64 Ki SAs, flow rows and policies, 16 Ki rows of hosts, 16 Ki of policies by
   * prefix, and 4 Ki of prefixes, which hold more than 16 Ki. The cuckoo table of flows fills to
   * some 95 %; twice the rows would be beyond 60 % of an XCVU9P's URAM, and so would more than
   * 1 MiB for fragments. Transport mode alone puts fragments from red together.
   */
  val full: InnerConfig = {
    val chip = InterfaceConfig.full
    InnerConfig(
      saBits = 16,
      flowBits = 16,
      hostBits = 14,
      prefixBits = 12,
      policyBits = 14,
      chip = chip.copy(reassembly = chip.reassembly.copy(cells = 1024))
    )
  }

  /** For the first light of a board: a quarter of the SAs. */
  val first: InnerConfig = full.copy(saBits = 14, flowBits = 14)
}
