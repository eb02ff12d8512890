// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.parts

import sallyport.boards.shell.{CageClocks, Debouncer}

/** All parts ([[ElaborateParts]]). */
object Parts {
  private val shell: Seq[Part] = Seq(
    Part("CageClocks", () => new CageClocks(bits = 4)),
    Part("Debouncer", () => new Debouncer(bits = 4))
  )

  val all: Seq[Part] = PathParts.all ++ ControlParts.all ++ shell
}
