// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.headers

import chisel3._

/**
 * Destinations that are no single host: multicast (RFC 5771 3, RFC 4291 2.7), and the limited
 * broadcast of IPv4 (RFC 919 7).
 */
object GroupAddress {
  def ipv4(address: UInt): Bool = address(31, 28) === 0xe.U || address(31, 0).andR
  def ipv6(address: UInt): Bool = address(127, 120).andR
}
