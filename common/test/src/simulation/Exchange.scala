// SPDX-License-Identifier: Apache-2.0
package sallyport.common.simulation

import chisel3.{Bool, Clock, Data}
import svsim.Simulation

import scala.language.reflectiveCalls

/**
 * What a bench asks in each cycle, in one exchange of messages with its simulation. An exchange
 * takes longer than a cycle of most models.
 */
object Exchange {
  private val halfPeriod = 5 // as ChiselSim steps a clock

  /** What ChiselSim knows of the simulation that runs, which is private to it. */
  private type Running = {
    def port(data: Data): Simulation.Port
    def controller: Simulation.Controller
    def willPeek(): Any
  }

  private val door = Class.forName("chisel3.simulator.package$AnySimulatedModule$").getField("MODULE$").get(null)

  private def running: Running = door.asInstanceOf[{ def current: Running }].current

  /** The values of ports, none of them signed. */
  def peek(ports: Data*): Seq[BigInt] = {
    val module = running
    val values = new Array[BigInt](ports.size)
    module.willPeek()
    for ((port, i) <- ports.zipWithIndex) module.port(port).check(value => values(i) = value.asBigInt)
    module.controller.completeInFlightCommands()
    values.toSeq
  }

  /**
   * Steps to the next cycle in which `port` is true, this one if it is. Returns the cycles that
   * passed: `limit`, if it is never true before.
   */
  def stepUntil(clock: Clock, port: Bool, limit: Int): Int = {
    val module = running
    module.willPeek()
    module.port(clock).tick(halfPeriod, limit, 0, 1, Some((module.port(port), 1))).toInt
  }
}
