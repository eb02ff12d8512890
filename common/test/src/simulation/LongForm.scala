// SPDX-License-Identifier: Apache-2.0
package sallyport.common.simulation

import org.scalatest.{Canceled, Outcome, TestSuite, TestSuiteMixin}

object LongForm {

  /** Whether `make test-long` runs the specs. */
  val asked: Boolean = sys.env.contains("SALLYPORT_LONG_SPECS")
}

/**
 * A spec of a whole chip, whose model takes a minute to make: `make test-long` runs it. `make test`
 * runs such chips in boxes.
 */
trait LongForm extends TestSuiteMixin { self: TestSuite =>
  abstract override def withFixture(test: NoArgTest): Outcome =
    if (LongForm.asked) super.withFixture(test) else Canceled("a part of the long form")
}
