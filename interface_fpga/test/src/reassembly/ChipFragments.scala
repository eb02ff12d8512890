// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import scala.io.Source

/**
 * A frame, scapy's fragments of it (tests/vectors/test_chip_fragments.py), and the packets as which
 * these go on if they are not put together.
 */
case class ChipFragments(name: String, whole: Seq[Byte], fragments: Seq[Seq[Byte]], onward: Seq[Seq[Byte]])

object ChipFragments {
  private def bytes(hex: String): Seq[Byte] = hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq

  /** Those of `inner` or `outer`. */
  def of(chip: String): Seq[ChipFragments] =
    Source.fromResource("chip_fragments.txt").getLines().map(_.split(" ").toSeq).collect {
      case `chip` +: name +: frame +: cut =>
        val (fragments, onward) = cut.map(_.split(",").toSeq.map(bytes)).map(each => (each.head, each.tail)).unzip
        ChipFragments(name, bytes(frame), fragments, onward.flatten)
    }.toSeq
}
