// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.support

/** Byte strings of the tests: byte 0 of a string is in bits 7:0 of a hardware value. */
object Bytes {
  def fromHex(hex: String): Array[Byte] =
    hex.filterNot(_.isWhitespace).grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
  def toHex(bytes: Array[Byte]): String = bytes.map(b => f"${b & 0xff}%02x").mkString

  def toBigInt(bytes: Array[Byte]): BigInt = BigInt(1, bytes.reverse)
  def fromBigInt(x: BigInt, size: Int): Array[Byte] = Array.tabulate(size)(i => (x >> (8 * i)).toByte)

  def random(random: scala.util.Random, size: Int): Array[Byte] = {
    val bytes = new Array[Byte](size)
    random.nextBytes(bytes)
    bytes
  }
}
