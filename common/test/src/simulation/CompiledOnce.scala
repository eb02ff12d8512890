// SPDX-License-Identifier: Apache-2.0
package sallyport.common.simulation

import chisel3.Module
import chisel3.simulator.scalatest.ChiselSim
import chisel3.simulator.{ChiselOptionsModifications, FirtoolOptionsModifications, HasSimulator, Settings, Simulator}
import chisel3.testing.HasTestingDirectory
import org.scalatest.TestSuite
import svsim.verilator.Backend
import svsim.CommonCompilationSettings.VerilogPreprocessorDefine
import svsim.{BackendSettingsModifications, CommonCompilationSettings, CommonSettingsModifications, PlusArg, Workspace}

import java.nio.file.Files
import scala.reflect.ClassTag

/**
 * ChiselSim whose models are compiled once: simulations of the same Verilog, in whatever spec and
 * run, share one model under `build/models` (`scripts/model.sh`).
 *
 * Registers and memories start at random. Verilator draws these values when a simulation starts;
 * firtool's own code for it, which takes longer to compile than many a module, is left out. The
 * seed is fixed, so a failure repeats.
 */
trait CompiledOnce extends ChiselSim { self: TestSuite =>
  implicit def compiledOnce: HasSimulator = CompiledOnce

  /**
   * True for a model that simulates few cycles, which most do in the short form: its code is not
   * optimised, which saves more time than the simulation then takes longer.
   */
  def brief: Boolean = !LongForm.asked

  /** As in ChiselSim, but with a reset that reaches the end of a way without one. */
  override def simulate[T <: Module](
      module: => T,
      chiselOpts: Array[String] = Array(),
      firtoolOpts: Array[String] = Array(),
      settings: Settings[T] = Settings.default[T],
      additionalResetCycles: Int = CompiledOnce.resetCycles,
      subdirectory: Option[String] = None
  )(stimulus: T => Unit)(implicit
      simulator: HasSimulator,
      folder: HasTestingDirectory,
      chisel: ChiselOptionsModifications,
      firtool: FirtoolOptionsModifications,
      common: CommonSettingsModifications,
      backend: BackendSettingsModifications
  ): Unit = super.simulate(module, chiselOpts, firtoolOpts, settings, additionalResetCycles, subdirectory)(stimulus)(
    simulator,
    folder,
    chisel,
    firtool,
    common,
    backend
  )

  /**
   * Simulates as `simulate` does, but elaborates one module for all simulations of its class and
   * this `key`, in whatever spec: `key` says all that `module` depends on.
   */
  def simulateShared[T <: Module](key: Any)(module: => T)(stimulus: T => Unit)(implicit kind: ClassTag[T]): Unit =
    ElaboratedOnce.simulate(
      (kind.runtimeClass, key, brief),
      CompiledOnce.getSimulator,
      Settings.default[T],
      Modifications(
        chiselOptionsModifications,
        firtoolOptionsModifications,
        commonSettingsModifications,
        backendSettingsModifications
      )
    )(module)(stimulus)

  override implicit def firtoolOptionsModifications: FirtoolOptionsModifications =
    options => super.firtoolOptionsModifications(options) :+ "-disable-all-randomization"

  override implicit def commonSettingsModifications: CommonSettingsModifications = { settings =>
    val modified = super.commonSettingsModifications(settings)
    val simulation = modified.simulationSettings
    val defines = modified.verilogPreprocessorDefines ++ Option.when(brief)(VerilogPreprocessorDefine("BRIEF"))
    modified.copy(
      verilogPreprocessorDefines = defines,
      simulationSettings = simulation.copy(plusArgs = simulation.plusArgs ++ CompiledOnce.randomStart)
    )
  }
}

/** Verilator as ChiselSim knows it, but with `scripts/model.sh` for its executable. */
private[simulation] object CompiledOnce extends HasSimulator {

  /** Cycles of reset beyond the first: more than the stages of a way between two SLRs. */
  val resetCycles = 8

  private val script = Workspace.getProjectRootOrCwd.resolve("scripts/model.sh").toString

  private val randomStart = Seq("verilator+rand+reset+2", "verilator+seed+1").map(new PlusArg(_))

  override def getSimulator(implicit directory: HasTestingDirectory): Simulator[Backend] = new Simulator[Backend] {
    override val backend = new Backend(script)
    override val tag = "verilator"
    override val commonCompilationSettings = CommonCompilationSettings.default
    override val backendSpecificCompilationSettings = Backend.CompilationSettings.default
    override val workspacePath = Files.createDirectories(directory.getDirectory).toString
  }
}
