// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.inner

/** An IPv4 packet to another address, with a right checksum. */
object Packet4 {
  def to(packet: Seq[Byte], address: Seq[Int]): Seq[Byte] = {
    val header = packet.take(20).toArray
    for ((byte, n) <- address.zipWithIndex) header(16 + n) = byte.toByte
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
