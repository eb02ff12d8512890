// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.scaling

import org.scalatest.funsuite.AnyFunSuite
import sallyport.common.simulation.LongForm

/** Growth with the lanes, of suites whose packets take a lane the fewest and the most cycles. */
class LaneScalingSpec extends AnyFunSuite with LongForm {
  test("four lanes carry four times what one does, or what the link carries, with more than they take") {
    assert(LaneScaling.grows(LaneScalingOptions(lanes = "1,4")))
  }
}
