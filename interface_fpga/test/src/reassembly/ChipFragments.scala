// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import scala.io.Source

/**
 * A frame that a chip takes whole, and scapy's fragments of it
 * (tests/vectors/test_chip_fragments.py).
 */
case class ChipFragments(name: String, whole: Seq[Byte], fragments: Seq[Seq[Byte]])

object ChipFragments {
  private def bytes(hex: String): Seq[Byte] = hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq

  /** Those of `inner` or `outer`. */
  def of(chip: String): Seq[ChipFragments] =
    Source.fromResource("chip_fragments.txt").getLines().map(_.split(" ").toSeq).collect {
      case `chip` +: name +: frames => ChipFragments(name, bytes(frames.head), frames.tail.map(bytes))
    }.toSeq
}
