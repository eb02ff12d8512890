package sallyport.common

import java.nio.file.{Path, Paths}

import mainargs.{Flag, ParserForClass, arg, main}

/**
 * The command line of a chip's elaboration: `--out FOLDER --version M.m.p [--small]`.
 *
 * @param out     folder that gets one folder a chip
 * @param version text of the VERSION file, for the identity block
 * @param small   the smallest useful configuration instead of the simulation's, for a quick synthesis
 */
@main
case class Elaboration(
    @arg(doc = "folder that gets one folder of .sv files a chip") out: String,
    @arg(doc = "major.minor.patch for the identity block") version: String,
    @arg(doc = "the smallest useful configuration") small: Flag
) {

  /** Where the files of `chip` go. */
  def folder(chip: String): Path = Paths.get(out).resolve(chip)
}

object Elaboration {
  private val parser = ParserForClass[Elaboration]

  /** The parsed command line; exits with 2 and a message on a bad one. */
  def parse(args: Array[String]): Elaboration = parser.constructEither(args.toIndexedSeq) match {
    case Right(elaboration) => elaboration
    case Left(message) =>
      Console.err.println(message)
      sys.exit(2)
  }
}
