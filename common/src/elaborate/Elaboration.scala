// SPDX-License-Identifier: Apache-2.0
package sallyport.common.elaborate

import mainargs.{Flag, ParserForClass, arg, main}

import java.nio.file.{Path, Paths}

/**
 * The command line of a chip's elaboration: `--out FOLDER --version M.m.p [--small]`.
 *
 * @param out     folder that gets one folder a chip
 * @param version text of the VERSION file, for the identity block
 * @param small   the smallest useful configuration instead of the simulation's, for a
 *                quick synthesis
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
  val parser: ParserForClass[Elaboration] = ParserForClass[Elaboration]

  /** The parsed command line; exits with 2 and a message on a bad one. */
  def parse(args: Array[String]): Elaboration = parse(parser, args)

  /** The same for a chip that has more options. */
  def parse[T](parser: ParserForClass[T], args: Array[String]): T =
    parser.constructEither(args.toIndexedSeq).fold(refuse, identity)

  /** Names the error in the command line and exits with 2. */
  def refuse(message: String): Nothing = {
    Console.err.println(message.stripPrefix("requirement failed: "))
    sys.exit(2)
  }
}
