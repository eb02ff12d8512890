// SPDX-License-Identifier: Apache-2.0
package sallyport.common.simulation

import chisel3.Module
import chisel3.simulator._
import chisel3.simulator.stimulus.ResetProcedure
import svsim.verilator.Backend
import svsim.{BackendSettingsModifications, CommonSettingsModifications, ModuleInfo, Workspace}

import java.lang.reflect.InvocationTargetException
import scala.collection.concurrent.TrieMap

/** How ChiselSim is asked to elaborate, compile and simulate. */
private[simulation] case class Modifications(
    chisel: ChiselOptionsModifications,
    firtool: FirtoolOptionsModifications,
    common: CommonSettingsModifications,
    backend: BackendSettingsModifications
)

/**
 * Modules that are elaborated for the first of their simulations, and kept for the others. A large
 * one takes longer to elaborate than most of its tests run.
 *
 * One simulation of a kept module runs at a time: nothing says that Chisel's objects serve two.
 */
private[simulation] object ElaboratedOnce {

  private class Design(val workspace: Workspace, val elaborated: ElaboratedModule[_ <: Module], val info: ModuleInfo)

  private class Place { var design: Option[Design] = None }

  private val places = TrieMap.empty[Any, Place]

  /** Simulates what `module` makes, or what it made under the same `key`, from its reset on. */
  def simulate[T <: Module](key: Any, simulator: Simulator[Backend], settings: Settings[T], how: Modifications)(
      module: => T
  )(stimulus: T => Unit): Unit = {
    val place = places.getOrElseUpdate(key, new Place)
    place.synchronized {
      val workspace = new Workspace(simulator.workspacePath, simulator.workingDirectoryPrefix)
      val design = place.design match {
        case Some(kept) =>
          val copy = kept.workspace.shallowCopy(workspace.absolutePath, workspace.workingDirectoryPrefix)
          copy.elaborate(kept.info)
          new Design(copy, kept.elaborated, kept.info)
        case None => elaborate(workspace, how)(module)
      }
      place.design = Some(place.design.getOrElse(design))
      run(simulator, design, settings, how) { dut: T =>
        ResetProcedure.module[T](CompiledOnce.resetCycles)(dut)
        stimulus(dut)
      }
    }
  }

  private def elaborate[T <: Module](workspace: Workspace, how: Modifications)(module: => T): Design = {
    workspace.reset()
    var made: Option[T] = None
    val elaborated = workspace.elaborateGeneratedModule[T](
      () => { made = Some(module); made.get },
      how.chisel(Array()).toSeq,
      how.firtool(Array()).toSeq
    )
    new Design(workspace, elaborated, ModuleInfo(made.get.name, workspace.getModuleInfoPorts(made.get).map(_._2)))
  }

  /** The part of ChiselSim that simulates an elaborated module, which is private. */
  private lazy val door = {
    val door = classOf[Simulator[_]].getDeclaredMethods.find(_.getName == "_simulate").get
    door.setAccessible(true)
    door
  }

  private def run[T <: Module](
      simulator: Simulator[Backend],
      design: Design,
      settings: Settings[T],
      how: Modifications
  )(
      body: T => Unit
  ): Unit = {
    val inside = (simulated: SimulatedModule[T]) => body(simulated.wrapped)
    val digest =
      try
        door.invoke(
          simulator,
          design.workspace,
          design.elaborated,
          settings,
          inside,
          how.chisel,
          how.firtool,
          how.common,
          how.backend
        )
      catch { case error: InvocationTargetException => throw error.getCause }
    digest.asInstanceOf[Simulator.BackendInvocationDigest[Unit]].result
  }
}
