// SPDX-License-Identifier: Apache-2.0
package sallyport.common.simulation

import svsim.Workspace

import java.nio.file.{Files, Path}
import java.util.Comparator
import scala.jdk.CollectionConverters._

object SpecFolder {

  /**
   * An empty folder of a spec that runs Verilator itself, beside those of ChiselSim. It is at the
   * same place in each run, so ccache finds its objects again.
   */
  def apply(spec: String, name: String): Path = {
    val folder = Workspace.getProjectRootOrCwd.resolve("build/chiselsim").resolve(spec).resolve(name)
    if (Files.exists(folder))
      Files.walk(folder).sorted(Comparator.reverseOrder[Path]).iterator.asScala.foreach(Files.delete)
    Files.createDirectories(folder)
  }
}
