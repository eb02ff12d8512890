// SPDX-License-Identifier: Apache-2.0
package sallyport.boards

import mainargs.{ParserForClass, arg, main}
import sallyport.boards.parts.Parts
import sallyport.common.elaborate.{Elaboration, Emit}

import java.nio.file.Paths

@main
case class PartsElaboration(@arg(doc = "folder that gets a folder of .sv files a part") out: String)

/** Writes the parts of the shells that tests simulate by themselves: `--out FOLDER`. */
object ElaborateParts {
  private val parser = ParserForClass[PartsElaboration]

  def main(args: Array[String]): Unit = {
    val folder = Paths.get(Elaboration.parse(parser, args).out)
    for (part <- Parts.all) Emit(part.design(), folder.resolve(part.name), bindsMemories = true)
  }
}
