// SPDX-License-Identifier: Apache-2.0
package sallyport.iface

import chisel3.util.isPow2
import mainargs.{Flag, ParserForClass, arg, main}
import sallyport.common.elaborate.{Elaboration, Emit}
import sallyport.iface.chip.InterfaceConfig
import sallyport.iface.inner.{InnerConfig, InnerCore}
import sallyport.iface.outer.{OuterConfig, OuterCore}

/**
 * The command line of the interface chips' elaboration.
 *
 * @param chip what every chip has
 * @param full a board's configuration with its memories bound, instead of the simulation's
 * @param rules rows of every rule table
 */
@main
case class InterfaceElaboration(
    chip: Elaboration,
    @arg(doc = "a board's configuration, its memories bound to URAM, block RAM and LUTs") full: Flag,
    @arg(doc =
      "rows of the rule tables, a power of two, 8 to 1024; default 64, with --full 1024, with --small 8"
    ) rules: Option[
      Int
    ]
)

/**
 * Writes the interface chips' SystemVerilog: `--out FOLDER --version M.m.p [--small | --full]
 * [--rules N]`, into FOLDER/inner and FOLDER/outer.
 */
object Elaborate {
  private implicit val chip: ParserForClass[Elaboration] = Elaboration.parser
  private val parser = ParserForClass[InterfaceElaboration]

  def main(args: Array[String]): Unit = {
    val options = Elaboration.parse(parser, args)
    val full = options.full.value
    val small = options.chip.small.value
    if (full && small) Elaboration.refuse("--small and --full: give one")
    val inner =
      if (full) InnerConfig.full
      else if (small) InnerConfig.small
      else InnerConfig()
    val outer =
      if (full) OuterConfig.full
      else if (small) OuterConfig.small
      else OuterConfig()
    for (rules <- options.rules if !isPow2(rules) || rules < 8 || rules > 1024)
      Elaboration.refuse(s"--rules $rules: choose a power of two, 8 to 1024")
    val version = options.chip.version
    def chip(of: InterfaceConfig) = of.copy(rules = options.rules.getOrElse(of.rules), version = version)
    Emit(new InnerCore(inner.copy(chip = chip(inner.chip))), options.chip.folder("inner"), full)
    Emit(new OuterCore(outer.copy(chip = chip(outer.chip))), options.chip.folder("outer"), full)
  }
}
