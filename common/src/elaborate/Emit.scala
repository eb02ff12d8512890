// SPDX-License-Identifier: Apache-2.0
package sallyport.common.elaborate

import chisel3.RawModule
import circt.stage.ChiselStage
import sallyport.common.memory.MemoryModule

import java.nio.file.{Files, Path}

/**
 * Writes a design as SystemVerilog, one file a module, in the dialect that Verilator, yosys and
 * Vivado all read.
 */
object Emit {

  /**
   * Why each option: yosys rejects local variables and packed arrays; random initial values would
   * make runs differ; assertions stay in the modules, under `ifndef SYNTHESIS`.
   */
  private val firtool = Array(
    "--strip-debug-info",
    "--disable-all-randomization",
    "--default-layer-specialization=enable",
    "--lowering-options=disallowLocalVariables,disallowPackedArrays",
    "--split-verilog"
  )

  /**
   * Elaborates `design` and writes its files into `folder`, which is emptied of older .sv
   * files first.
   *
   * @param bindsMemories whether the modules of memories say what the memories are made of
   *   ([[MemoryBinding]]), for a device
   */
  def apply(design: => RawModule, folder: Path, bindsMemories: Boolean = false): Unit = {
    Files.createDirectories(folder)
    Option(folder.toFile.listFiles).toSeq.flatten.filter(_.getName.endsWith(".sv")).foreach(_.delete())
    // Absolute: firtool takes a relative path from the folder that it writes to.
    val memories = folder.toAbsolutePath.resolve("memories.conf")
    val lifts = if (bindsMemories) Array("--repl-seq-mem", s"--repl-seq-mem-file=$memories") else Array.empty[String]
    ChiselStage.emitSystemVerilogFile(design, Array("--target-dir", folder.toString), firtool ++ lifts)
    if (bindsMemories) MemoryModule.writeAll(memories)
  }
}
