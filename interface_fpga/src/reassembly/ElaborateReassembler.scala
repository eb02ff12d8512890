package sallyport.iface

import sallyport.common.Emit

import java.nio.file.Paths

/**
 * Writes the reassembler alone into `FOLDER/Reassembler`, for the figures in docs/theory.md; the one argument is
 * FOLDER.
 */
object ElaborateReassembler {
  def main(args: Array[String]): Unit = {
    // Few cells: yosys has no rule that maps these memories to URAM, and the logic is the same.
    val config = ReassemblyConfig(cells = 64)
    Emit(new Reassembler(config), Paths.get(args.head).resolve("Reassembler"))
  }
}
