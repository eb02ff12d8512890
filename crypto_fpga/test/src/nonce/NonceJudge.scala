// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.nonce

import sallyport.crypto.chip.LinkPacket
import sallyport.crypto.keys.SaKeys
import sallyport.crypto.lane.EspJob
import sallyport.crypto.support.Bytes

import scala.collection.mutable

/** Contents of an outbound key row. */
case class Generation(
    keys: SaKeys,
    ivMask: BigInt,
    softLimit: BigInt,
    hardLimit: BigInt,
    nodeBits: Int,
    node: Int
) {
  def row: BigInt = keys.outbound(ivMask, softLimit, hardLimit, nodeBits, node)

  /** Whether a box that shares the SA may give out a number: all others have none such. */
  def owns(number: BigInt): Boolean = (number - node) % (1 << nodeBits) == 0

  /** The last number that may be given out. */
  def last: BigInt = {
    val width = (BigInt(1) << (if (keys.esn) 64 else 32)) - 1
    val limit = if (hardLimit == 0) width else hardLimit.min(width)
    limit - (limit - node).mod(1 << nodeBits)
  }

  /**
   * The packet's number as its IV has it, if the packet was made with this row: Bouncy Castle
   * finds its ICV good.
   */
  def opens(packet: Seq[Byte]): Option[BigInt] = {
    def field(at: Int, size: Int): BigInt = BigInt(1, packet.slice(at, at + size).toArray)
    val iv = field(8, 8)
    val number = iv ^ ivMask
    val job = EspJob(keys.keys, keys.icv, keys.spi, keys.esn, number.toLong, iv.toLong, Nil, 0, 0, 0)
    val headed = field(0, 4) == keys.spi && field(4, 4) == (number & 0xffffffffL)
    Option.when(headed && job.isAuthentic(packet))(number)
  }
}

/**
 * Judges by the packets on the black side alone that no IV is ever used twice with a key: knows
 * what software wrote into each row, and finds out with which of it a packet was made by
 * opening it.
 */
class NonceJudge {
  private val written = mutable.Map.empty[Int, Vector[Generation]].withDefaultValue(Vector.empty)
  private val current = mutable.Map.empty[Int, Int].withDefaultValue(0)
  private val highest = mutable.Map.empty[(Int, Int), BigInt].withDefaultValue(BigInt(0))
  private val used = mutable.Set.empty[(Seq[Byte], Seq[Byte])]

  /**
   * Packets that a row's key made, rows that made a packet, and rows that made their
   * last number.
   */
  def packets: Int = used.size
  def generations: Int = highest.size
  def ended: Int = highest.count { case ((sa, index), number) => number == written(sa)(index).last }

  /** Numbers so far above the one before that their counter was raised. */
  var jumps = 0

  /** Software is about to write this row; it takes effect at some time after. */
  def writes(sa: Int, generation: Generation): Unit = written(sa) :+= generation

  def judge(packet: LinkPacket): Unit = if (!packet.meta.bypass) {
    val sa = packet.meta.sa
    val rows = written(sa)
    val made =
      (current(sa) until rows.length).iterator.flatMap(i => rows(i).opens(packet.bytes).map((i, _))).nextOption()
    val (index, number) = made.getOrElse(
      throw new AssertionError(
        s"a packet of SA $sa that none of its rows from ${current(sa)} on made: ${hex(packet.bytes)}"
      )
    )
    current(sa) = index
    val iv = packet.bytes.slice(8, 16)
    assert(used.add((rows(index).keys.keys.key, iv)), s"SA $sa, row $index: IV ${hex(iv)} is used twice with one key")
    assert(number > highest((sa, index)), s"SA $sa, row $index: number $number after ${highest((sa, index))}")
    assert(rows(index).owns(number), s"SA $sa, row $index: number $number of another node than ${rows(index).node}")
    assert(number <= rows(index).last, s"SA $sa, row $index: number $number beyond the limit ${rows(index).last}")
    if (number - highest((sa, index)) > 256) jumps += 1
    highest((sa, index)) = number
  }

  private def hex(bytes: Seq[Byte]): String = Bytes.toHex(bytes.toArray)
}
