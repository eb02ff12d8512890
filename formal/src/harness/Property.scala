// SPDX-License-Identifier: Apache-2.0
package sallyport.formal.harness

import chisel3._
import chisel3.experimental.noPrefix

import scala.collection.mutable.ArrayBuffer

/**
 * A design that holds the module to be judged, and says with `assert` what must hold in every cycle
 * after reset, with `assume` what the environment does, and with `cover` what must be able to
 * happen. The assertions inside the module are proved with it.
 *
 * Induction begins in any state, so a property also says which states are possible: it compares
 * what it remembers with the module's registers ([[spy]]).
 */
abstract class Property(val claim: Claim) extends Module {
  override def desiredName = "Property"

  private val powerOn = Module(new PowerOn)
  powerOn.clock := clock
  override protected def implicitReset: Reset = powerOn.reset

  private val spied = ArrayBuffer[String]()
  private var inputs = 0

  /** What the environment chooses in every cycle. In traces: `any_0`, `any_1` and on. */
  protected def any[T <: Data](gen: T): T = noPrefix {
    inputs += 1
    IO(Input(gen)).suggestName(s"any_${inputs - 1}")
  }

  /** A value that is chosen once: what holds for it holds for all. */
  protected def some[T <: Data](gen: T): T = {
    val value = any(gen)
    assume(value.asUInt === RegNext(value.asUInt))
    value
  }

  /**
   * A register inside the module, by its name in flattened Verilog: `dut.count`, or
   * `dut.memory.Memory[3]` for a row of a memory.
   */
  protected def spy(path: String, width: Int): UInt = {
    spied += path
    // A wire: a name inside another `val` would become the port's.
    WireDefault(UInt(width.W), noPrefix(IO(Input(UInt(width.W))).suggestName(s"spy_${spied.length - 1}")))
  }
  protected def spy(path: String): Bool = spy(path, 1).asBool

  /** The registers that were spied on, in the order of the ports `spy_0`, `spy_1` and on. */
  def spies: Seq[String] = spied.toSeq

  /** High from the second cycle after reset on: what [[before]] gives is of a cycle after reset. */
  protected val running: Bool = RegNext(true.B, false.B)

  /** The value of a cycle ago. */
  protected def before[T <: Data](value: T): T = RegNext(value)
}
