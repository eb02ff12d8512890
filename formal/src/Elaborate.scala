// SPDX-License-Identifier: Apache-2.0
package sallyport.formal

import circt.stage.ChiselStage
import sallyport.formal.harness.Property

import java.nio.file.{Files, Path, Paths}

/**
 * Writes the Verilog of the named properties into `FOLDER/<name>`, each with its `claim.json`:
 * `FOLDER NAME …`.
 */
object Elaborate {

  /** As yosys reads designs and their assertions. */
  private val firtool = Array(
    "--strip-debug-info",
    "--disable-all-randomization",
    "--default-layer-specialization=enable",
    "--verification-flavor=immediate",
    "--lowering-options=disallowLocalVariables,disallowPackedArrays",
    "--split-verilog"
  )

  def main(args: Array[String]): Unit = {
    val folder = Paths.get(args.head)
    for (name <- args.tail) {
      val entry = Registry.entries.find(_.name == name)
      require(entry.nonEmpty, s"no property is called $name: formal/registry.py should have refused it")
      entry.foreach(emit(_, folder))
    }
  }

  private def emit(entry: Entry, folder: Path): Unit = {
    val target = folder.resolve(entry.name)
    Files.createDirectories(target)
    Option(target.toFile.listFiles).toSeq.flatten.foreach(_.delete())
    var made: Option[Property] = None
    def design = { val property = entry.make(); made = Some(property); property }
    ChiselStage.emitSystemVerilogFile(design, Array("--target-dir", target.toString), firtool)
    for (property <- made) Files.writeString(target.resolve("claim.json"), property.claim.json(property.spies))
  }
}
