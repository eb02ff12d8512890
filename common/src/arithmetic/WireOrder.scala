// SPDX-License-Identifier: Apache-2.0
package sallyport.common.arithmetic

import chisel3._
import chisel3.util._

/** Byte order helpers for headers on the packet stream, where byte 0 is in bits 7:0. */
object WireOrder {

  /** A host-order number as it stands on the wire (big-endian), first byte in bits 7:0. */
  def bigEndian(value: UInt): UInt = {
    require(value.getWidth % 8 == 0, s"a big-endian field needs whole bytes, not ${value.getWidth} bits")
    Cat((0 until value.getWidth / 8).map(i => value(8 * i + 7, 8 * i)))
  }

  /** Fields in wire order, packed so that the first one is lowest. */
  def pack(fields: UInt*): UInt = Cat(fields.reverse)
}
