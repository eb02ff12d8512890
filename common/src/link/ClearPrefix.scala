// SPDX-License-Identifier: Apache-2.0
package sallyport.common.link

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream

/**
 * The meaning of [[LinkMeta.tos]] for a packet with `transport`: it describes the frame's headers
 * in front of ESP, which cross the link in clear. They are an Ethernet header, up to two VLAN tags,
 * and an IP header of whole words.
 *
 * Bits 3:0 hold the words of 4 bytes of the IP header (IPv6: 10), bits 5:4 the VLAN tags, 7:6
 * are 0.
 */
object ClearPrefix {

  /** An Ethernet header, without and with each tag. */
  private val ethernetBytes = 14
  private val wordBytes = 4
  private val maxTags = 2

  /** Words of the shortest IP header. */
  private val minWords = 5

  /** The lengths that a prefix can have: what fits one beat. */
  val lengths: Seq[Int] = ethernetBytes + wordBytes * minWords until PacketStream.dataBytes by wordBytes

  def apply(tags: UInt, ipWords: UInt): UInt = Cat(0.U(2.W), tags.pad(2)(1, 0), ipWords.pad(4)(3, 0))

  def tags(tos: UInt): UInt = tos(5, 4)
  def ipWords(tos: UInt): UInt = tos(3, 0)

  /** Bytes of Ethernet header and tags. */
  def linkBytes(tos: UInt): UInt = (ethernetBytes / 2).U(4.W) + (tags(tos) << 1) << 1

  /** Bytes of the prefix. */
  def bytes(tos: UInt): UInt = ((tags(tos) +& ipWords(tos)) << 2) + ethernetBytes.U

  /** Which of `lengths` it has. */
  def index(tos: UInt): UInt = ((tags(tos) +& ipWords(tos)) -% minWords.U)(log2Ceil(lengths.length) - 1, 0)

  /** It can be one: `lengths` has its length. */
  def possible(tos: UInt): Bool = ipWords(tos) >= minWords.U && tags(tos) <= maxTags.U && tos(7, 6) === 0.U &&
    tags(tos) +& ipWords(tos) < (minWords + lengths.length).U
}
