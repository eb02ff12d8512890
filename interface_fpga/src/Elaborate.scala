package sallyport.iface

import mainargs.{Flag, ParserForClass, arg, main}
import sallyport.common.{Elaboration, Emit}

/**
 * The command line of the interface chips' elaboration.
 *
 * @param chip what every chip has
 * @param full a board's configuration with its memories bound, instead of the simulation's
 */
@main
case class InterfaceElaboration(
    chip: Elaboration,
    @arg(doc = "a board's configuration, its memories bound to URAM, block RAM and LUTs") full: Flag
)

/** Writes the interface chips' SystemVerilog: `--out FOLDER --version M.m.p [--small | --full]`, into FOLDER/inner and FOLDER/outer. */
object Elaborate {
  private implicit val chip: ParserForClass[Elaboration] = Elaboration.parser
  private val parser = ParserForClass[InterfaceElaboration]

  def main(args: Array[String]): Unit = {
    val options = Elaboration.parse(parser, args)
    val full = options.full.value
    val small = options.chip.small.value
    if (full && small) Elaboration.refuse("--small and --full: give one")
    // The smallest useful configurations: few SAs, few rules.
    val inner =
      if (full) InnerConfig.full
      else if (small) InnerConfig(saBits = 6, flowBits = 6, rules = 8)
      else InnerConfig()
    val outer =
      if (full) OuterConfig.full
      else if (small) OuterConfig(saBits = 6, sadBits = 6, rules = 8)
      else OuterConfig()
    Emit(new InnerCore(inner.copy(version = options.chip.version)), options.chip.folder("inner"), full)
    Emit(new OuterCore(outer.copy(version = options.chip.version)), options.chip.folder("outer"), full)
  }
}
