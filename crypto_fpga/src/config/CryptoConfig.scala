// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.config

import sallyport.common.memory.MemoryPipe
import sallyport.common.registers.map.{CommonRegs, CryptoRegs, RegisterDesc}
import sallyport.crypto.keys.SequenceAuthority
import sallyport.crypto.lane.LaneConfig
import sallyport.crypto.noise.NoiseConfig
import sallyport.crypto.selftest.SelfTestConfig
import sallyport.crypto.suite.{AuthKind, CipherKind, Suite}

/**
 * Parameters of [[CryptoCore]].
 *
 * @param saBits
 *   log2 of the SAs a direction: rows of each key table; 16 is the full configuration
 * @param lanes
 *   lanes a direction, 38.4 Gb/s each at 300 MHz
 * @param suites
 *   what the lanes can do; pipes that none of them needs are not built
 * @param slots
 *   packets that a lane works on, a power of two ([[LaneConfig]])
 * @param laneBeats
 *   packet buffers of a lane in 64-byte beats, a power of two
 * @param keyPipe
 *   registers of the memories of key rows
 * @param linkBeats
 *   receive buffer of each link in 64-byte beats, a power of two
 * @param linkMessages
 *   both links carry messages ([[sallyport.common.link.LinkMessages]]): a card's register tunnels
 * @param noise
 *   how the board's noise chip is read and tested
 * @param selfTest
 *   of the lanes; none where a spec has other things in their place
 * @param version
 *   of the hardware, `major.minor.patch`
 * @param simulation
 *   built for simulation; software can read it
 * @param modelled
 *   lanes are simulated by [[LaneModel]]s; software cannot see it
 */
case class CryptoConfig(
    saBits: Int = 10,
    lanes: Int = 4,
    suites: Seq[Suite] = Suite.all,
    slots: Int = 64,
    laneBeats: Int = 4096,
    keyPipe: MemoryPipe = MemoryPipe.banks,
    linkBeats: Int = 512,
    linkMessages: Boolean = false,
    noise: NoiseConfig = NoiseConfig(),
    selfTest: Option[SelfTestConfig] = Some(SelfTestConfig()),
    version: String = "0.0.0",
    simulation: Boolean = true,
    modelled: Boolean = false
) {
  require(saBits >= 1 && saBits <= 16, s"saBits is $saBits, but the link carries SA numbers of 1 to 16 bits")
  require(simulation || !modelled, "models of lanes are for simulation: leave modelled out")
  require(simulation || selfTest.isDefined, "lanes without a self-test are for simulation: leave selfTest in")
  require(lanes >= 1 && lanes <= 16, s"$lanes lanes a direction: choose 1 to 16")

  def lane(encrypt: Boolean): LaneConfig = LaneConfig(encrypt, suites, slots, laneBeats)

  /** What software reads of this configuration. */
  def build: Map[RegisterDesc, BigInt] = Map(
    CommonRegs.build -> CommonRegs.Build.simulation.put(if (simulation) 1 else 0),
    CommonRegs.capabilitySaBits -> BigInt(saBits),
    CommonRegs.capabilityLanes -> BigInt(lanes),
    CommonRegs.capabilityLinkBufferBeats -> BigInt(linkBeats),
    CryptoRegs.noiseEntropy -> BigInt(noise.wordEntropy),
    CommonRegs.capabilityNodeBits -> BigInt(SequenceAuthority.mostNodeBits),
    CommonRegs.capabilitySuites -> suites.map(suite => BigInt(1) << suite.number).sum
  )
}

object CryptoConfig {

  /** The smallest that is of use, for a quick synthesis. */
  val small: CryptoConfig = CryptoConfig(saBits = 6, lanes = 1, slots = 32, laneBeats = 512, linkBeats = 256)

  /** For a board: 64 Ki SAs a direction. */
  val full: CryptoConfig = CryptoConfig(saBits = 16)

  /**
   * For the first light of a board: a third of the area of [[full]]; 64 Gb/s a direction at
   * 250 MHz.
   */
  val first: CryptoConfig = CryptoConfig(
    saBits = 14,
    lanes = 2,
    suites = Suite.all.filter(suite => suite.auth == AuthKind.Ghash && suite.cipher.isInstanceOf[CipherKind.Aes])
  )
}
