// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto

import mainargs.{Flag, ParserForClass, arg, main}
import sallyport.common.elaborate.{Elaboration, Emit}
import sallyport.crypto.chip.CryptoCore
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.suite.Suite

/**
 * The command line of the crypto chip's elaboration.
 *
 * @param chip
 *   what every chip has
 * @param suites
 *   strongSwan's names, separated by commas
 * @param lanes
 *   a direction
 * @param slots
 *   of a lane
 * @param full
 *   a board's configuration with its memories bound, instead of the simulation's
 * @param model
 *   for a fast simulation
 */
@main
case class CryptoElaboration(
    chip: Elaboration,
    @arg(doc = "suites to build in, by strongSwan's names, separated by commas; default all") suites: Option[String],
    @arg(doc = "lanes a direction, 1 to 16; default 4, with --small 1") lanes: Option[Int],
    @arg(doc = "packets that a lane works on, a power of two from 32 to 256; default 64, with --small 32")
    slots: Option[Int],
    @arg(doc = "a board's configuration, its memories bound to URAM, block RAM and LUTs") full: Flag,
    @arg(doc = "C++ models in the place of the lanes, for Verilator alone; into crypto-model")
    model: Flag
) {

  /** Raises an `IllegalArgumentException` that names the error. */
  def config: CryptoConfig = {
    require(!(full.value && chip.small.value), "--small and --full: give one")
    val default =
      if (chip.small.value) CryptoConfig.small
      else if (full.value) CryptoConfig.full
      else CryptoConfig()
    default.copy(
      lanes = lanes.getOrElse(default.lanes),
      slots = slots.getOrElse(default.slots),
      suites = suites.map(_.split(",", -1).toSeq.map(Suite.named)).getOrElse(default.suites),
      version = chip.version,
      modelled = model.value
    )
  }
}

/**
 * Writes the crypto chip's SystemVerilog into a folder's subfolder `crypto` (`crypto-model` with
 * `--model`): `--out FOLDER --version M.m.p` and [[CryptoElaboration]].
 */
object Elaborate {
  private implicit val chip: ParserForClass[Elaboration] = Elaboration.parser
  private val parser = ParserForClass[CryptoElaboration]

  def main(args: Array[String]): Unit = {
    val options = Elaboration.parse(parser, args)
    val config =
      try options.config
      catch { case error: IllegalArgumentException => Elaboration.refuse(error.getMessage) }
    val folder = options.chip.folder(if (config.modelled) "crypto-model" else "crypto")
    Emit(new CryptoCore(config), folder, options.full.value)
  }
}
