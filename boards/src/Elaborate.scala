// SPDX-License-Identifier: Apache-2.0
package sallyport.boards

import mainargs.{Flag, ParserForClass, arg, main}
import sallyport.boards.control.ControlPlaneParams
import sallyport.boards.shell.{Cores, Fabric, Shell, ShellConfig, ShellTimes}
import sallyport.common.elaborate.{Elaboration, Emit}
import sallyport.common.registers.map.Chip
import sallyport.crypto.config.CryptoConfig
import sallyport.iface.chip.InterfaceConfig
import sallyport.iface.inner.InnerConfig
import sallyport.iface.outer.OuterConfig

import java.nio.file.Paths

/**
 * The command line of a shell's elaboration; `python -m boards.top --shell-options` says what a
 * board needs.
 *
 * @param fabric for simulations beside a core
 */
@main
case class ShellElaboration(
    @arg(doc = "folder that gets the .sv files") out: String,
    @arg(doc = "major.minor.patch for the identity blocks") version: String,
    @arg(doc = "inner, crypto or outer") chip: String,
    @arg(doc = "id of the board file") board: Int,
    @arg(doc = "four-lane Aurora channels of each link, 1 or 2") channels: Int,
    @arg(doc = "QSFP cages that the chip uses") cages: Int,
    @arg(doc = "I2C buses of the card") buses: Int,
    @arg(doc = "a board's tables, memories bound to URAM, block RAM and LUTs; else the smallest") full: Flag,
    @arg(doc = "the same for a first light: 16 Ki SAs, 2 + 2 lanes, AES-GCM alone") first: Flag,
    @arg(doc = "the fabric without a core, with waits that a simulation can wait for") fabric: Flag
) {
  private val chips = Map("inner" -> Chip.inner, "crypto" -> Chip.crypto, "outer" -> Chip.outer)

  /** Raises an `IllegalArgumentException` that names the wrong option. */
  def config: ShellConfig = {
    require(chips.contains(chip), s"--chip $chip: choose one of ${chips.keys.mkString(", ")}")
    require(Seq(full, first, fabric).count(_.value) <= 1, "--full, --first and --fabric: give one")
    ShellConfig(
      ControlPlaneParams(chips(chip), board, version, channels, cages, buses),
      if (fabric.value) ShellTimes.simulated else ShellTimes()
    )
  }

  /** Tables as on a board, or as few as make a chip whose crossings are the same. */
  def cores: Cores = {
    val (inner, crypto, outer) =
      if (full.value) (InnerConfig.full, CryptoConfig.full, OuterConfig.full)
      else if (first.value) (InnerConfig.first, CryptoConfig.first, OuterConfig.first)
      else (InnerConfig.small, CryptoConfig.small, OuterConfig.small)
    def onBoard(chip: InterfaceConfig) = chip.copy(version = version, simulation = false, linkMessages = true)
    Cores(
      inner.copy(chip = onBoard(inner.chip)),
      crypto.copy(version = version, simulation = false, linkMessages = true),
      outer.copy(chip = onBoard(outer.chip))
    )
  }
}

/**
 * Writes the SystemVerilog of shells into folders: of one, or of several with `--and` between their
 * options. The start of the program takes longer than a small shell.
 */
object Elaborate {
  private val parser = ParserForClass[ShellElaboration]

  private def several(args: Array[String]): Seq[Array[String]] = {
    val end = args.indexOf("--and")
    if (end < 0) Seq(args) else args.take(end) +: several(args.drop(end + 1))
  }

  def main(args: Array[String]): Unit =
    for (options <- several(args).map(Elaboration.parse(parser, _))) {
      val config =
        try options.config
        catch { case error: IllegalArgumentException => Elaboration.refuse(error.getMessage) }
      val folder = Paths.get(options.out)
      if (options.fabric.value) Emit(new Fabric(config), folder)
      else Emit(new Shell(config, options.cores), folder, bindsMemories = options.full.value || options.first.value)
    }
}
