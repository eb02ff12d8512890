// SPDX-License-Identifier: Apache-2.0
package sallyport.iface

import sallyport.common.elaborate.Emit
import sallyport.iface.reassembly.{Reassembler, ReassemblyConfig}
import sallyport.iface.receive.FragmentDetour
import sallyport.iface.tracking.TrackerConfig

import java.nio.file.Paths

/**
 * Writes the reassembler alone, and all that reassembly adds to a chip, into `FOLDER/Reassembler`
 * and `FOLDER/FragmentDetour`, for the figures in docs/explanation/fragments.md; the one argument
 * is FOLDER.
 */
object ElaborateReassembler {
  def main(args: Array[String]): Unit = {
    // Few cells: yosys has no rule that maps these memories to URAM, and the logic is the same.
    val config = ReassemblyConfig.full.copy(cells = 64)
    val folder = Paths.get(args.head)
    Emit(new Reassembler(config), folder.resolve("Reassembler"))
    Emit(new FragmentDetour(config, TrackerConfig.full, ends = true), folder.resolve("FragmentDetour"))
  }
}
