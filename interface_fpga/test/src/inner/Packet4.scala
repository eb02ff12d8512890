// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

/** IPv4 packets of fewer than 256 bytes with other addresses, and a right checksum. */
object Packet4 {

  /** A packet to another address. */
  def to(packet: Seq[Byte], address: Seq[Int]): Seq[Byte] =
    between(packet, packet.slice(12, 16).map(_.toInt), address)

  /** The same from another one. */
  def between(packet: Seq[Byte], from: Seq[Int], to: Seq[Int]): Seq[Byte] = {
    val header = packet.take(20).toArray
    for ((byte, n) <- (from ++ to).zipWithIndex) header(12 + n) = byte.toByte
    header(2) = 0
    header(3) = packet.length.toByte
    header(10) = 0
    header(11) = 0
    val sum = header.grouped(2).map(word => (word(0) & 0xff) << 8 | word(1) & 0xff).sum
    val folded = (sum & 0xffff) + (sum >> 16)
    val checksum = ~((folded & 0xffff) + (folded >> 16)) & 0xffff
    header(10) = (checksum >> 8).toByte
    header(11) = checksum.toByte
    header.toSeq ++ packet.drop(20)
  }
}
