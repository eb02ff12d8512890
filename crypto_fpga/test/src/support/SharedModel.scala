// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.support

import chisel3.Module
import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.CompiledOnce

import scala.collection.mutable
import scala.util.Try

/**
 * A spec whose tests run one after the other on one compiled model: compiling is what takes
 * the time.
 *
 * @tparam D
 *   the model
 * @tparam B
 *   what drives it; made anew for each test, and resets the model
 */
trait SharedModel[D <: Module, B] extends AnyFunSuite with CompiledOnce {
  def model: D
  def bench(dut: D): B

  /** Simulates the model once. */
  def simulateModel(stimulus: D => Unit): Unit = simulate(model)(stimulus)

  private val bodies = mutable.Map.empty[String, B => Unit]
  private val names = mutable.Buffer.empty[String]
  private lazy val results: Map[String, Try[Unit]] = {
    var results = Map.empty[String, Try[Unit]]
    simulateModel { dut => for (name <- names) results += name -> Try(bodies(name)(bench(dut))) }
    results
  }

  def subtest(name: String)(body: B => Unit): Unit = {
    names += name
    bodies(name) = body
    test(name) { results(name).get }
  }
}
