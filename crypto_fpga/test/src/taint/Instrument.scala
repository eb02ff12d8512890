// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.taint

import chisel3.RawModule
import circt.stage.ChiselStage

import java.nio.file.{Files, Path}

/** Writes a design with a wire of taint beside each of its wires. */
object Instrument {
  private val firtoolOptions = Seq("--disable-all-randomization", "--strip-debug-info")

  /**
   * The instrumented Verilog, in a folder of its own below `folder`.
   *
   * @param plants mistakes, each off until a run switches it on
   * @param sources values that are secrets from there on; the driver taints inputs
   * @param free signals that lose their taint
   */
  def apply(
      folder: Path,
      design: => RawModule,
      plants: Seq[Plant],
      sources: Seq[Source],
      free: Seq[Declassified]
  ): Path = {
    val circt = new Circt(folder)
    def file(name: String): String = folder.resolve(name).toString
    Files.writeString(folder.resolve("design.fir"), ChiselStage.emitCHIRRTL(design))
    circt.run(
      "firtool",
      Seq(file("design.fir"), "--ir-hw", "--default-layer-specialization=disable", "-o", file("design.mlir")) ++
        firtoolOptions: _*
    )
    val prepared = HwDesign.prepare(Files.readString(folder.resolve("design.mlir")), plants, sources)
    Files.writeString(folder.resolve("prepared.mlir"), prepared.text)
    circt.run(
      "circt-opt",
      file("prepared.mlir"),
      "--hw-aggregate-to-comb",
      "--cellift-instrument",
      "-o",
      file("tainted.mlir")
    )
    val verilog = Files.createDirectories(folder.resolve("verilog"))
    circt.run(
      "firtool",
      Seq("--format=mlir", file("tainted.mlir"), "--split-verilog", "-o", verilog.toString) ++ firtoolOptions: _*
    )
    for (cell <- prepared.cells) Files.writeString(verilog.resolve(s"${cell.module}.sv"), cell.verilog)
    for (signal <- free) signal(verilog, prepared.modules)
    verilog
  }
}
