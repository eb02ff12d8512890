// SPDX-License-Identifier: Apache-2.0
package sallyport.common.simulation

import org.scalatest.{Assertions, Canceled, Outcome, TestSuite, TestSuiteMixin}

object LongForm {

  /** Whether `make test-long` runs the specs. */
  val asked: Boolean = sys.env.contains("SALLYPORT_LONG_SPECS")

  /** Cancels a test that is a part of the long form alone. */
  def only(): Unit = if (!asked) Assertions.cancel(why)

  private[simulation] val why = "a part of the long form"
}

/**
 * A spec of a whole chip, whose model takes a minute to make: `make test-long` runs it. `make test`
 * runs such chips in boxes.
 */
trait LongForm extends TestSuiteMixin { self: TestSuite =>
  abstract override def withFixture(test: NoArgTest): Outcome =
    if (LongForm.asked) super.withFixture(test) else Canceled(LongForm.why)
}
