package sallyport.boards

import chisel3.RawModule
import mainargs.{ParserForClass, arg, main}
import sallyport.common.{Elaboration, Emit}

import java.nio.file.Paths

/** A module of the shell that is simulated or synthesised by itself, under the name of its folder. */
case class Part(name: String, design: () => RawModule)

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
