// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.selftest

import chisel3.util.isPow2

/**
 * Parameters of the lanes' self-test.
 *
 * @param hangCycles a lane that does nothing for so long has failed, a power of two. The longest
 *   packets of the slowest suites are done a third sooner, when the buffer is full of them
 */
case class SelfTestConfig(hangCycles: Int = 1 << 16) {
  require(
    isPow2(hangCycles) && hangCycles >= 1024,
    s"hangCycles is $hangCycles: make it a power of two, 1024 or more, above what a packet takes"
  )
}
