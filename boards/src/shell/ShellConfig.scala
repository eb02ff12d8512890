// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.shell

import sallyport.boards.aurora.{AuroraLinkParams, AuroraResetTimes}
import sallyport.boards.control.ControlPlaneParams
import sallyport.common.registers.map.Chip

/**
 * What a shell is made for.
 *
 * @param control what software can read of it
 * @param times   how long things take that simulations cannot wait for
 */
case class ShellConfig(control: ControlPlaneParams, times: ShellTimes = ShellTimes()) {

  /** How the modules of this chip are called. */
  val name: String = Map(Chip.inner -> "Inner", Chip.crypto -> "Crypto", Chip.outer -> "Outer")(control.chip)

  val link: AuroraLinkParams = AuroraLinkParams(control.channels, reset = times.aurora)
}

/**
 * Waits of a shell.
 *
 * @param cageClockBits see [[CageClocks]]
 * @param tamperBits    log2 of the core cycles that the tamper pin has to last: 27 us
 * @param aurora        resets of the Aurora cores
 */
case class ShellTimes(cageClockBits: Int = 10, tamperBits: Int = 13, aurora: AuroraResetTimes = AuroraResetTimes())

object ShellTimes {

  /** The shortest that work. */
  val simulated: ShellTimes = ShellTimes(cageClockBits = 2, tamperBits = 4, aurora = AuroraResetTimes(16, 16, 16))
}
